// `npm test`: installs what is missing, runs the suites on every host and adds up. Plain Node.
// The last line it prints is `N passed, N failed`; the exit code is 0 only when every run finished and nothing failed.
// Arguments go to vitest; `--host 1.6.0` limits the run to one host (it may be given more than once).
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureDeps } from "../fixtures/pi/ensure-deps.mjs";
import { ensureHost, HOST_NAMES } from "../fixtures/pi/install-hosts.mjs";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const [OLDEST] = HOST_NAMES;
/** A run that hangs is ended, so that all of them end in time. */
const DEADLINE_MS = Date.now() + 40 * 60 * 1_000;
const SHORTEST_RUN_MS = 30_000;

/** Splits our own `--host` from what vitest gets. */
function readArguments(argv) {
  const hosts = [];
  const rest = [];
  for (let i = 0; i < argv.length; i++) {
    if (argv[i] === "--host") hosts.push(argv[++i]);
    else if (argv[i].startsWith("--host=")) hosts.push(argv[i].slice("--host=".length));
    else rest.push(argv[i]);
  }
  const unknown = hosts.find((name) => !HOST_NAMES.includes(name));
  if (unknown !== undefined) throw new Error(`--host ${unknown}: known hosts are ${HOST_NAMES.join(", ")}`);
  return { hosts: hosts.length > 0 ? hosts : HOST_NAMES, rest };
}

/** The counts of vitest's JSON report. A file that failed before its tests, or an error outside any test, counts as one. */
function readReport(path, exitCode) {
  let report;
  try {
    report = JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return { passed: 0, failed: 1, skipped: 0, note: "crashed" };
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
  };
}

function runVitest(label, { node, name }, projects, rest) {
  console.log(`\n== ${label}`);
  const folder = mkdtempSync(join(tmpdir(), "pi-token-budget-report-"));
  const report = join(folder, "report.json");
  try {
    const ran = spawnSync(
      node,
      [
        join(ROOT, "node_modules/vitest/vitest.mjs"),
        "run",
        ...projects.flatMap((project) => ["--project", project]),
        "--reporter=default",
        "--reporter=json",
        `--outputFile.json=${report}`,
        "--passWithNoTests",
        ...rest,
      ],
      {
        cwd: ROOT,
        stdio: ["ignore", "inherit", "inherit"],
        env: { ...process.env, PI_TEST_HOST: name },
        timeout: Math.max(SHORTEST_RUN_MS, DEADLINE_MS - Date.now()),
        killSignal: "SIGKILL",
      },
    );
    return { label, ...readReport(report, ran.status ?? 1) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function describe({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

function main() {
  const { hosts, rest } = readArguments(process.argv.slice(2));
  ensureDeps();
  // Tests of the packed form run every host's command line, so all are needed even when one suite is asked for.
  const ready = new Map(HOST_NAMES.map((name) => [name, ensureHost(name)]));
  const results = hosts.map((name) => {
    const projects = name === OLDEST ? ["unit", "hosts"] : ["hosts"];
    return runVitest(`Pi ${name}: ${projects.join(" and ")}`, ready.get(name), projects, rest);
  });

  console.log("");
  const narrowed = rest.length > 0;
  for (const result of results) {
    const empty = result.passed + result.failed + result.skipped === 0;
    if (empty && !narrowed) Object.assign(result, { failed: 1, note: "found no tests" });
    const note = result.note || (empty ? "nothing selected" : "");
    console.log(`${result.label}: ${describe(result)}${note ? ` (${note})` : ""}`);
  }
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const result of results) for (const key of Object.keys(total)) total[key] += result[key];
  if (total.passed + total.failed === 0) {
    console.log("no test ran");
    process.exitCode = 1;
  }
  if (total.failed > 0) process.exitCode = 1;
  console.log(describe(total));
}

try {
  main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  console.log("0 passed, 1 failed");
  process.exitCode = 1;
}
