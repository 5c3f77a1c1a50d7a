// One run of vitest and what it says: `npm test` (run.mjs) and `npm run torture` (torture/run.mjs) make many. Plain Node.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
/** Failures are told again at the end, after what all the runs printed: so many characters of each message. */
const FAILURE_CHARS = 1_200;

/** The counts of vitest's JSON report. A file that failed before its tests, or an error outside any test, counts as one. */
function readReport(path, exitCode) {
  let report;
  try {
    report = JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return { passed: 0, failed: 1, skipped: 0, note: "crashed", failures: [] };
  }
  const broken = report.testResults.filter(
    (file) => file.status === "failed" && !file.assertionResults.some((test) => test.status === "failed"),
  );
  const failed = report.numFailedTests + broken.length;
  const outside = failed === 0 && exitCode !== 0 ? 1 : 0;
  return {
    passed: report.numPassedTests,
    failed: failed + outside,
    skipped: report.numPendingTests + report.numTodoTests,
    note: outside ? "an error outside the tests" : "",
    failures: report.testResults.flatMap(failuresOf),
  };
}

/** What failed in a file: each test with the beginning of its message. */
function failuresOf({ name, message, status, assertionResults }) {
  const file = relative(ROOT, name);
  const tests = assertionResults.filter((test) => test.status === "failed");
  if (tests.length === 0) return status === "failed" ? [describeFailure(file, [message])] : [];
  return tests.map(({ fullName, failureMessages }) => describeFailure(`${file}: ${fullName}`, failureMessages));
}

function describeFailure(title, messages) {
  const text = messages.join("\n").trim().slice(0, FAILURE_CHARS);
  return `${title}\n${text.replace(/^/gm, "    ")}`;
}

/** Runs vitest to its end; what it prints comes out in one piece, so that runs side by side can be read. */
function spawned({ node, words, timeoutMs, env }) {
  const command = [join(ROOT, "node_modules/vitest/vitest.mjs"), "run", ...words];
  return new Promise((resolve) => {
    const child = spawn(node, command, {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...env },
      timeout: timeoutMs,
      killSignal: "SIGKILL",
    });
    let printed = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (chunk) => {
        printed += chunk;
      });
    child.on("error", (error) => resolve({ exitCode: 1, printed: `${printed}${error.message}` }));
    child.on("close", (exitCode) => resolve({ exitCode: exitCode ?? 1, printed }));
  });
}

/** Carries out one run: what it counted, what failed, and what it printed. */
export async function runVitest(run) {
  const folder = mkdtempSync(join(tmpdir(), "pi-token-budget-report-"));
  const report = join(folder, "report.json");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`, "--passWithNoTests"];
  const started = Date.now();
  try {
    const { exitCode, printed } = await spawned({ ...run, words: [...reporters, ...run.words] });
    return { ...readReport(report, exitCode), printed, tookMs: Date.now() - started };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
