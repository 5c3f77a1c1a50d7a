// The tables of measured figures in README.md and docs/, made from bench/baseline.json.
import { readFileSync } from "node:fs";
import type { Side } from "../../bench/compaction.ts";
import type { Figures } from "../../bench/run.ts";
import { TOKEN_GOALS } from "../../bench/tokens.ts";
import { table } from "./table.ts";

const BASELINE = new URL("../../bench/baseline.json", import.meta.url);

function baseline(): Figures {
  return JSON.parse(readFileSync(BASELINE, "utf8")) as Figures;
}

const shown = (value: number) => Math.round(value).toLocaleString("en-US");

/** What one change of context costs on average, against Pi's own compaction. */
export function compactionTable(): string {
  const { compaction } = baseline();
  if (!compaction) throw new Error("bench/baseline.json holds no comparison: npm run bench -- --baseline");
  const { native, package: own } = compaction;
  const each = (pick: (side: Side) => number) =>
    [native, own].map((side) => (pick(side) / side.changes).toLocaleString("en-US", { maximumFractionDigits: 1 }));
  const tokens = (pick: (side: Side) => number) => [native, own].map((side) => shown(pick(side) / side.changes));
  const rows: readonly (readonly [string, ...string[]])[] = [
    ["model calls that write a summary", ...each((side) => side.summary_calls)],
    ["all model calls made for the change (¹)", ...each((side) => side.extra_calls)],
    ["tokens they read that no prefix cache can hold", ...tokens((side) => side.extra_in_new)],
    ["tokens they read in all, cached prefix included", ...tokens((side) => side.extra_in)],
    ["tokens they write (²)", ...tokens((side) => side.extra_out)],
    ["tokens of the first request after it", shown(native.first_request), shown(own.first_request)],
    [
      "items of the closed part that can still be read byte for byte",
      `${shown(native.readable_items)} of ${shown(native.closed_items)}`,
      `${shown(own.readable_items)} of ${shown(own.closed_items)}`,
    ],
  ];
  return [
    table([["per change of context", "Pi's own compaction", "this package"], ...rows], [1, 2]),
    "",
    `Measured by \`npm run bench\`: the story of \`npm start\` worked through twice in Pi ${compaction.host} with a model window of ${shown(compaction.context_window)} tokens, ${native.changes} changes by Pi's own compaction and ${own.changes} by this package; tokens of o200k, an image counted as 1,200. Over the whole session the requests held ${shown(native.tokens_in / 1e6)} million tokens with Pi's own and ${shown(own.tokens_in / 1e6)} million with this package; without what repeats the request before, ${shown(native.tokens_in_new / 1e3)} and ${shown(own.tokens_in_new / 1e3)} thousand.`,
    "",
    `(¹) Here: saving the checkpoint, \`new_context\`, one refused call, and what the scripted model reads in the new window (its note, the latest requests, a search, an item). A real model may read more or less. (²) The summaries are scripted, ${shown(compaction.summary_chars)} characters each; Pi allows them 13,107 tokens.`,
  ].join("\n");
}

export function tokenTable(): string {
  const { tokens } = baseline();
  if (!tokens) throw new Error("bench/baseline.json holds no tokens: npm run bench -- --baseline");
  const rows: readonly (readonly [string, number, number | undefined])[] = [
    [
      "definitions of all tools and the guidance, in every request",
      tokens.tools_and_guidance,
      TOKEN_GOALS.tools_and_guidance,
    ],
    ["the definition of `dispatch_task`, where the setting `taskTool` is on", tokens.task_tool, TOKEN_GOALS.task_tool],
    ["the start of a window with nothing to list", tokens.empty_bootstrap, TOKEN_GOALS.empty_bootstrap],
    ["the start of a window with every list full", tokens.full_bootstrap, TOKEN_GOALS.full_bootstrap],
    ["the same with all requests in Chinese", tokens.full_bootstrap_chinese, undefined],
  ];
  const cells = rows.map(([what, value, goal]) => [what, shown(value), goal === undefined ? "" : shown(goal)]);
  return table([["what the model pays", "tokens (o200k)", "goal"], ...cells], [1, 2]);
}

export function speedTable(): string {
  const { speed, node } = baseline();
  if (!speed) throw new Error("bench/baseline.json holds no speeds: npm run bench -- --baseline");
  const rows = speed.map(({ name, against, ratio, goal, allowance_ms, missed }) => [
    name,
    against,
    String(ratio),
    `${goal}${allowance_ms === undefined ? "" : ` and ${allowance_ms} ms`}${missed ? " (missed)" : ""}`,
  ]);
  return [
    table([["path", "compared with", "ratio", "at most"], ...rows], [2, 3]),
    "",
    `Medians in one process of Node ${node.replace("v", "")}, both sides in turns, in processor time but for the note write. \`npm run bench\` measures them anew and fails when a ratio is over its goal in two runs in a row.`,
  ].join("\n");
}
