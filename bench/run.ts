// `npm run bench`: runs every bench, prints a table, writes bench/results.json, and fails when a ratio misses its goal in
// two runs in a row. `-- --only speed,tokens,compaction` runs some parts, `-- WORD …` the rows of speed whose topic or name
// has one of the words, `-- --items 2000` with sessions no longer than that; `-- --baseline` keeps the figures.
import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Comparison, compareCompaction } from "./compaction.ts";
import { hotPaths } from "./hot-paths.ts";
import { type Result, run } from "./measure.ts";
import { TOKEN_GOALS, type TokenCosts, tokenCosts } from "./tokens.ts";

const PARTS = ["tokens", "speed", "compaction"] as const;
type Part = (typeof PARTS)[number];

/** What is written; the baseline holds the last figures that were kept. */
export interface Figures {
  readonly node: string;
  readonly cores: number;
  readonly speed?: readonly Result[];
  readonly tokens?: TokenCosts;
  readonly compaction?: Comparison;
}

const RESULTS = fileURLToPath(new URL("./results.json", import.meta.url));
const BASELINE = fileURLToPath(new URL("./baseline.json", import.meta.url));

function print(line: string): void {
  console.log(line);
}

function table(rows: readonly (readonly string[])[]): void {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  for (const row of rows) print(`  ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("  ")}`.trimEnd());
}

const significant = (value: number, digits = 3) => Number(value.toPrecision(digits));
const shown = (value: number) => value.toLocaleString("en-US");

async function speed(words: readonly string[], itemsMax?: number): Promise<Result[]> {
  const { groups, leftOut } = hotPaths(itemsMax);
  const topics = new Set(groups.map(({ topic }) => topic));
  const isTopic = words.length > 0 && words.every((word) => topics.has(word));
  const isWanted = (topic: string, name: string) =>
    words.length === 0 || words.some((word) => topic === word || name.includes(word));
  const results: Result[] = [];
  print("\nSpeed: medians of samples taken in turns, in one process; only the ratio counts.\n");
  for (const group of groups) {
    if (isTopic && !words.includes(group.topic)) continue;
    const { races, close } = await group.make();
    try {
      for (const race of races.filter(({ name }) => isWanted(group.topic, name))) {
        const result = await run(race);
        print(`  ${result.missed ? "MISSED" : "ok    "} ${significant(result.ratio)}x  ${result.name}`);
        results.push({
          ...result,
          ratio: significant(result.ratio),
          ours_ms: significant(result.ours_ms),
          reference_ms: significant(result.reference_ms),
        });
      }
    } finally {
      close?.();
    }
  }
  if (leftOut) print(`  left out: ${leftOut}`);
  print("");
  table([
    ["", "ratio", "goal", "ours, ms", "compared, ms", "compared with"],
    ...results.map(({ name, ratio, goal, allowance_ms, ours_ms, reference_ms, against, missed }) => [
      `${missed ? "MISSED " : ""}${name}`,
      `${ratio}x`,
      `<= ${goal}x${allowance_ms === undefined ? "" : ` + ${allowance_ms} ms`}`,
      String(ours_ms),
      String(reference_ms),
      against,
    ]),
  ]);
  return results;
}

function tokens(): { costs: TokenCosts; missed: boolean } {
  const costs = tokenCosts();
  const goals: Partial<Record<string, number>> = TOKEN_GOALS;
  print("\nWhat the model pays, in tokens of o200k:\n");
  table(
    Object.entries(costs).map(([name, value]) => {
      const goal = goals[name];
      const verdict = goal === undefined ? "" : value <= goal ? `<= ${shown(goal)}` : `MISSED <= ${shown(goal)}`;
      return [name.replaceAll("_", " "), shown(value), verdict];
    }),
  );
  return { costs, missed: Object.entries(goals).some(([name, goal]) => costs[name as keyof TokenCosts] > (goal ?? 0)) };
}

async function compaction(): Promise<Comparison> {
  print("\nThe same session, worked with Pi's own compaction and with this package (a minute or two each) …\n");
  const comparison = await compareCompaction();
  const { native, package: own } = comparison;
  table([
    ["", "Pi's own", "this package"],
    ...(Object.keys(native) as (keyof typeof native)[]).map((name) => [
      name.replaceAll("_", " "),
      shown(native[name]),
      shown(own[name]),
    ]),
  ]);
  return comparison;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: {
      only: { type: "string" },
      items: { type: "string" },
      baseline: { type: "boolean", default: false },
    },
    allowPositionals: true,
  });
  const rows = positionals.length > 0 ? ["speed"] : PARTS;
  const wanted = values.only?.split(",") ?? rows;
  const unknown = wanted.find((part) => !PARTS.includes(part as Part));
  if (unknown !== undefined) throw new Error(`--only ${unknown}: the parts are ${PARTS.join(", ")}`);
  let failed = false;
  let figures: Figures = { node: process.version, cores: availableParallelism() };
  if (wanted.includes("tokens")) {
    const { costs, missed } = tokens();
    failed ||= missed;
    figures = { ...figures, tokens: costs };
  }
  if (wanted.includes("speed")) {
    const results = await speed(positionals, values.items === undefined ? undefined : Number(values.items));
    failed ||= results.some(({ missed }) => missed);
    figures = { ...figures, speed: results };
  }
  if (wanted.includes("compaction")) figures = { ...figures, compaction: await compaction() };
  writeFileSync(RESULTS, `${JSON.stringify(figures, null, 2)}\n`);
  if (values.baseline) {
    const before = wanted.length === PARTS.length ? {} : (JSON.parse(readFileSync(BASELINE, "utf8")) as Figures);
    writeFileSync(BASELINE, `${JSON.stringify({ ...before, ...figures }, null, 2)}\n`);
  }
  if (failed) print("\nA goal was missed in two runs in a row.");
  process.exit(failed ? 1 : 0);
}

await main();
