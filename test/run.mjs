// `npm test`: installs what is missing, runs the suites on every host side by side and adds up. Plain Node.
// The last line it prints is `N passed, N failed`; the exit code is 0 only when every run finished and nothing failed.
// Arguments go to vitest; `--host 1.6.0` limits the run to one host (it may be given more than once).
// PI_TEST_ROUNDS=full makes all rounds of what is left to luck, and input of full size (test/rounds.ts).
// PI_TEST_JOBS says how many runs go on at a time (default: one more than there are cores, as a scenario waits now and then).
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureDeps } from "../fixtures/pi/ensure-deps.mjs";
import { ensureHost, HOST_NAMES } from "../fixtures/pi/install-hosts.mjs";
import { runVitest } from "./vitest-run.mjs";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const [OLDEST] = HOST_NAMES;
/** A run that hangs is ended, so that all of them end in time. */
const DEADLINE_MS = Date.now() + 40 * 60 * 1_000;
const SHORTEST_RUN_MS = 30_000;

/**
 * The files of a suite are dealt to so many runs, each of one worker that loads Pi once: runs of like length fill the
 * cores, and a run more costs some seconds.
 */
const RUNS_OF = { unit: 3, hosts: 4 };
/** Roughly how long files take, in seconds; of the others each counts as USUAL_S. It only decides who begins. */
const USUAL_S = 4;
const LONG_S = {
  "test/hosts/demo.test.ts": 80,
  "test/acp/copied.test.ts": 60,
  "test/hosts/subagents-children.test.ts": 60,
  "test/packaging/modules.test.ts": 60,
  "test/packaging/packed.test.ts": 56,
  "test/acp/pi-acp.test.ts": 50,
  "test/hosts/doc-snippets.test.ts": 48,
  "test/hosts/copies.test.ts": 47,
  "test/hosts/print-mode.test.ts": 41,
  "test/hosts/examples.test.ts": 38,
  "test/hosts/bare-clone.test.ts": 37,
  "test/journal/conformance.test.ts": 36,
  "test/hosts/http-notices.test.ts": 36,
  "test/hosts/http-odd-models.test.ts": 34,
  "test/acp/proxy.test.ts": 30,
  "test/hosts/last-words.test.ts": 29,
  "test/hosts/session-files.test.ts": 29,
  "test/hosts/terminal.test.ts": 28,
  "test/category/leaks.test.ts": 25,
  "test/hosts/http-terminal.test.ts": 25,
  "test/hosts/http-windows.test.ts": 24,
  "test/hosts/ephemeral-crash.test.ts": 23,
  "test/hosts/root-task.test.ts": 23,
  "test/hosts/subagents.test.ts": 22,
  "test/hosts/subagents-wiring.test.ts": 22,
  "test/journal/processes.test.ts": 21,
  "test/hosts/todo.test.ts": 19,
  "test/hosts/long-sessions.test.ts": 17,
  "test/hosts/aborts.test.ts": 17,
  "test/hosts/two-processes.test.ts": 17,
  "test/dispatch/dispatcher.test.ts": 16,
  "test/hosts/settings-bytes.test.ts": 16,
  "test/journal/index.test.ts": 15,
  "test/hosts/category-dispatch.test.ts": 15,
  "test/hosts/completion-terminal.test.ts": 15,
  "test/hosts/people.test.ts": 15,
  "test/hosts/windows.test.ts": 15,
  "test/hosts/categories.test.ts": 14,
};

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

function secondsOf(file) {
  return LONG_S[file] ?? USUAL_S;
}

function sum(numbers) {
  return numbers.reduce((total, one) => total + one, 0);
}

/** The test files of a project, longest first. */
function filesOf(project) {
  const found = readdirSync(join(ROOT, "test"), { recursive: true, encoding: "utf8" })
    .map((name) => `test/${name.split(sep).join("/")}`)
    .filter((name) => name.endsWith(".test.ts") && name.startsWith("test/hosts/") === (project === "hosts"));
  return found.sort((a, b) => secondsOf(b) - secondsOf(a) || a.localeCompare(b));
}

/** Deals files to `count` runs so that these take about the same time. */
function deal(files, count) {
  const hands = Array.from({ length: count }, () => []);
  for (const file of files) {
    const shortest = hands.reduce((a, b) => (sum(b.map(secondsOf)) < sum(a.map(secondsOf)) ? b : a));
    shortest.push(file);
  }
  return hands.filter((hand) => hand.length > 0);
}

/** What is to be run on a host. Whoever narrows by arguments of vitest's gets one run for each host. */
function runsFor(host, rest) {
  const projects = host === OLDEST ? ["unit", "hosts"] : ["hosts"];
  const label = `Pi ${host}: ${projects.join(" and ")}`;
  if (rest.length > 0) return [{ label, host, seconds: 0, words: [...projectWords(projects), ...rest] }];
  return projects.flatMap((project) =>
    deal(filesOf(project), RUNS_OF[project]).map((files) => {
      const seconds = sum(files.map(secondsOf));
      return { label, host, seconds, words: [...projectWords([project]), ...files] };
    }),
  );
}

function projectWords(projects) {
  return projects.flatMap((project) => ["--project", project]);
}

async function carryOut({ label, host, words }, { node }) {
  const timeoutMs = Math.max(SHORTEST_RUN_MS, DEADLINE_MS - Date.now());
  const { printed, tookMs, ...counts } = await runVitest({ node, words, timeoutMs, env: { PI_TEST_HOST: host } });
  console.log(`\n== ${label}, a part of ${Math.round(tookMs / 1_000)} s\n${printed.trim()}`);
  return { label, ...counts };
}

/** Carries out all runs, the longest first, so many at a time. */
async function pool(runs, jobs, ready) {
  const waiting = [...runs].sort((a, b) => b.seconds - a.seconds);
  const results = [];
  const work = async () => {
    for (let run = waiting.shift(); run; run = waiting.shift()) results.push(await carryOut(run, ready.get(run.host)));
  };
  await Promise.all(Array.from({ length: jobs }, work));
  return results;
}

/** One line for each host, of all its runs. */
function together(label, results) {
  const own = results.filter((result) => result.label === label);
  const total = (key) => sum(own.map((result) => result[key]));
  const notes = [...new Set(own.map(({ note }) => note).filter((note) => note !== ""))];
  return { label, passed: total("passed"), failed: total("failed"), skipped: total("skipped"), note: notes.join(", ") };
}

function describe({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

async function main() {
  const { hosts, rest } = readArguments(process.argv.slice(2));
  ensureDeps();
  // Tests of the packed form run every host's command line, so all are needed even when one suite is asked for.
  const ready = new Map(HOST_NAMES.map((name) => [name, ensureHost(name)]));
  // Once, before tests on several hosts ask for it at the same time.
  const built = spawnSync(process.execPath, [join(ROOT, ".ci/build.mjs")], { stdio: "inherit" });
  if (built.status !== 0) throw new Error("The package could not be built.");
  const runs = hosts.flatMap((host) => runsFor(host, rest));
  const jobs = Number(process.env.PI_TEST_JOBS) || availableParallelism() + 1;
  const done = await pool(runs, jobs, ready);
  const results = [...new Set(runs.map(({ label }) => label))].map((label) => together(label, done));

  for (const { label, failures } of done) for (const failure of failures) console.log(`\nFAILED ${label}: ${failure}`);
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
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  console.log("0 passed, 1 failed");
  process.exitCode = 1;
}
