// `npm run torture`: the tests of every row of rows.mjs with the counts that its goal names. Plain Node.
//   --row NAME   only this row (may be given more than once)
//   --seed N     the seed of all that is left to luck, to repeat a run; without it a new one is made and printed
// It prints a table at the end; the exit code is 0 only when every row held.
import { randomInt } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ensureDeps } from "../../fixtures/pi/ensure-deps.mjs";
import { ensureHost, HOST_NAMES } from "../../fixtures/pi/install-hosts.mjs";
import { runVitest } from "../vitest-run.mjs";
import { ROWS } from "./rows.mjs";

/** A row that hangs is ended, so that all of them end in time. */
const ALL_MS = 45 * 60 * 1_000;
const SEEDS = 2 ** 31 - 1;

function readArguments() {
  const { values } = parseArgs({ options: { row: { type: "string", multiple: true }, seed: { type: "string" } } });
  const unknown = values.row?.find((name) => !ROWS.some((row) => row.name === name));
  if (unknown !== undefined) throw new Error(`--row ${unknown}: rows are ${ROWS.map(({ name }) => name).join(", ")}`);
  const seed = values.seed === undefined ? randomInt(1, SEEDS) : Number(values.seed);
  if (!Number.isSafeInteger(seed) || seed < 1 || seed > SEEDS)
    throw new Error(`--seed ${values.seed}: a whole number from 1`);
  return { rows: ROWS.filter(({ name }) => values.row?.includes(name) ?? true), seed };
}

/** What the tests of a row said they did, added up by name. */
function figuresIn(file) {
  const sums = new Map();
  try {
    for (const line of readFileSync(file, "utf8").split("\n").filter(Boolean)) {
      const { name, value } = JSON.parse(line);
      sums.set(name, (sums.get(name) ?? 0) + value);
    }
  } catch {
    // None of them told any.
  }
  return [...sums].map(([name, value]) => `${value.toLocaleString("en-US")} ${name}`);
}

async function carryOut(row, { seed, untilMs }) {
  const host = row.host ?? HOST_NAMES[0];
  const folder = mkdtempSync(join(tmpdir(), "pi-token-budget-torture-"));
  const figures = join(folder, "figures.jsonl");
  const env = {
    PI_TEST_HOST: host,
    PI_TEST_ROUNDS: "torture",
    PI_TEST_SEED: String(seed),
    PI_TORTURE_FIGURES: figures,
  };
  try {
    const { node } = ensureHost(host);
    const ran = await runVitest({ node, words: row.files, timeoutMs: Math.max(1, untilMs - Date.now()), env });
    const failed = ran.failed + (ran.passed === 0 && ran.failed === 0 ? 1 : 0);
    console.log(`\n== ${row.name}, ${Math.round(ran.tookMs / 1_000)} s\n${ran.printed.trim()}`);
    return { row, ...ran, failed, figures: [...figuresIn(figures), `${ran.passed} tests`] };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The longest first, one a core. */
async function all(rows, options) {
  const waiting = [...rows].sort((a, b) => b.minutes - a.minutes);
  const results = [];
  const work = async () => {
    for (let row = waiting.shift(); row; row = waiting.shift()) results.push(await carryOut(row, options));
  };
  await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, work));
  return rows.map((row) => results.find((result) => result.row === row));
}

function printTable(results, seed) {
  const lines = results.map(({ row, failed, figures, tookMs }) => [
    row.name,
    failed === 0 ? "held" : "FAILED",
    `${Math.round(tookMs / 1_000)} s`,
    figures.join(", "),
    row.goal,
  ]);
  const head = ["row", "result", "took", "figures", "goal"];
  const widths = head.map((title, at) => Math.max(...[head, ...lines].map((cells) => cells[at].length), title.length));
  const shown = (cells) => `| ${cells.map((cell, at) => cell.padEnd(widths[at])).join(" | ")} |`;
  console.log(
    `\n${shown(head)}\n|${widths.map((width) => "-".repeat(width + 2)).join("|")}|\n${lines.map(shown).join("\n")}`,
  );
  for (const { row, failed, failures } of results) {
    if (failed === 0) continue;
    for (const failure of failures) console.log(`\nFAILED ${row.name}: ${failure}`);
    console.log(`\nTo repeat it: npm run torture -- --row ${row.name} --seed ${seed}`);
  }
}

async function main() {
  const { rows, seed } = readArguments();
  ensureDeps();
  console.log(`seed ${seed}`);
  const results = await all(rows, { seed, untilMs: Date.now() + ALL_MS });
  printTable(results, seed);
  if (results.some(({ failed }) => failed > 0)) process.exitCode = 1;
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
