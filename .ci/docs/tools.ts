// docs/tools.md and the README's table of tools, made from src/tools/specs.ts.

import { type ParamSpec, TOOL_NAMES, TOOL_SPECS, type ToolSpec } from "../../src/tools/specs.ts";
import { table } from "./table.ts";

function type(param: ParamSpec): string {
  const kind = param.enum ? param.enum.map((value) => `\`${value}\``).join(", ") : param.type;
  return param.nullable ? `${kind} or null` : kind;
}

function bounds(param: ParamSpec): string {
  const parts = [
    ...(param.required ? ["required"] : []),
    ...(param.minimum === undefined ? [] : [`at least ${param.minimum}`]),
    ...(param.maximum === undefined ? [] : [`at most ${param.maximum} (more counts as that)`]),
    ...(param.default === undefined ? [] : [`default ${param.default}`]),
  ];
  return parts.join(", ");
}

function rowsOf(params: ToolSpec["params"], prefix = ""): readonly string[][] {
  return Object.entries(params).flatMap(([name, param]) => [
    [`\`${prefix}${name}\``, type(param), bounds(param), param.description ?? ""],
    ...rowsOf(param.items ?? {}, `${prefix}${name}[].`),
  ]);
}

function parameters(params: ToolSpec["params"]): string {
  const rows = rowsOf(params);
  return rows.length === 0 ? "No parameters." : table([["parameter", "type", "bounds", ""], ...rows]);
}

/** What an answer holds where the tool's own words do not say it. */
const ANSWERS: Readonly<Record<string, string>> = {
  get_context_remaining:
    "One JSON object: `agent`, `window_id`, `used_tokens`, `remaining_tokens`, `remaining_to_hard_trigger` (null where it is not known), `phase`, `agents` (addresses, the own one first, then the newest 50 others; ` (restricted)` behind those that may not be read), `first_requests` (by address, the first line of what each of the newest 20 of them was asked first, at most 100 characters; left out when nothing is known), and `warnings` (left out when there are none).",
};

function section(name: string, spec: ToolSpec): string {
  const order = spec.executionMode === "sequential" ? " Runs alone, in order." : "";
  const answer = ANSWERS[name];
  return `## ${name}\n\n${spec.description}${order}\n\n${parameters(spec.params)}\n${answer === undefined ? "" : `\n${answer}\n`}`;
}

export function toolsPage(): string {
  const sections = TOOL_NAMES.map((name) => section(name, TOOL_SPECS[name]));
  return `# Tools

The ${TOOL_NAMES.length} tools the model gets, as it is told of them (made from \`src/tools/specs.ts\`). A person does not call them.

Characters are Unicode code points. Unknown parameters, wrong types and wrong values are refused with a message that names the field, the value and the rule; a call that is refused changes nothing. Lists answer in JSON Lines: one object that says what was asked and how much there is, then one object per row. Reads answer with one line of JSON and then the text, unchanged. Longer answers are cut at \`maxToolOutputChars\` (lists of history at 6,000) and say how to get the rest.

${sections.join("\n")}`;
}

const GROUPS: readonly (readonly [prefix: string, what: string])[] = [
  ["notes_", "the model's own notes: plain files that outlive every window"],
  ["history_", "every message, tool call and result of every window, read-only, byte for byte"],
  ["get_context_remaining", "how full this window is"],
  ["new_context", "opens the next window, without a summary"],
  ["todo_write", "the todo list that you see above the editor"],
];

export function toolsTable(): string {
  const rows = GROUPS.map(([prefix, what]) => {
    const names = TOOL_NAMES.filter((name) => name.startsWith(prefix)).map((name) => `\`${name}\``);
    return [names.join(", "), what];
  });
  return table([["tools", "what for"], ...rows]);
}
