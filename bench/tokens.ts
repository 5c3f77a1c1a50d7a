// What the model pays for this package, counted with a real tokenizer (o200k). No time, no network.
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { BranchIndex } from "../src/log/branch.ts";
import { GUIDANCE } from "../src/prompts.ts";
import { TODOS_MAX, type TodoStatus } from "../src/todo/list.ts";
import { toolSchema } from "../src/tools/define.ts";
import { TOOL_NAMES, TOOL_SPECS } from "../src/tools/specs.ts";
import { CHILDREN_MAX, type NoteRow, nextBootstrap, REQUEST_INDEX_MAX } from "../src/window/bootstrap.ts";
import { taskTool } from "../src/wire/task-tool.ts";
import { GeneratedLog } from "./generated.ts";

/** At most, in tokens. */
export const TOKEN_GOALS = {
  tools_and_guidance: 2_000,
  task_tool: 350,
  full_bootstrap: 4_000,
  empty_bootstrap: 350,
} as const;

export interface TokenCosts {
  readonly tools: number;
  readonly guidance: number;
  readonly tools_and_guidance: number;
  /** The tool that a person may turn on by the setting `taskTool`. */
  readonly task_tool: number;
  readonly full_bootstrap: number;
  /** The same with requests in Chinese, where a character is most of a token. */
  readonly full_bootstrap_chinese: number;
  readonly empty_bootstrap: number;
}

export function tokensIn(text: string): number {
  return countTokens(text);
}

/** The definitions as a provider is sent them. */
export function definitions(): readonly string[] {
  return TOOL_NAMES.map((name) => {
    const { description } = TOOL_SPECS[name];
    return JSON.stringify({ name, description, parameters: toolSchema(TOOL_SPECS[name]) });
  });
}

export function taskToolDefinition(): string {
  const { name, description, parameters } = taskTool({ dispatcher: () => Promise.reject(new Error("no dispatcher")) });
  return JSON.stringify({ name, description, parameters });
}

const identity = { agent: "/root", windowId: "w9", runId: "01933a00-0000-7000-8000-000000000001" };

/** A window with nothing to list: no request, no note, no edited file. */
export function emptyBootstrap(): string {
  return nextBootstrap(new BranchIndex(), {
    identity,
    notes: { rows: [], total: 0 },
    children: [],
    unsaved: undefined,
  });
}

const ENGLISH =
  "Please have a look at why the totals of the third quarter differ from the ledger: I think that rounding is done twice somewhere between the import and the report. ";
const CHINESE =
  "请看一下第三季度的总额为什么与总账不一致：我觉得在导入和报告之间的某个地方进行了两次四舍五入，请先写一个测试，再修改代码，然后告诉我改了哪些文件。";
const LATEST_REQUEST_CHARS = 2_000;
const NOTES = 40;
const TODO =
  "Write a test for the rounding of quarterly totals between the import and the report, with amounts in three currencies";

function padded(beginning: string, end: string, length: number): string {
  const middle = "rounding-of-quarterly-totals-and-reports-";
  return `${beginning}${middle.repeat(9).slice(0, Math.max(0, length - beginning.length - end.length))}${end}`;
}

function todoStatus(at: number): TodoStatus {
  if (at === 20) return "in_progress";
  return at < 20 ? "completed" : "pending";
}

/** Every index at its bounds: more requests than are listed, the longest latest one, long paths, more todo items and notes than fit. */
export function fullBootstrap(request: string = ENGLISH): string {
  const log = new GeneratedLog(0);
  for (let i = 0; i < REQUEST_INDEX_MAX + 15; i++) {
    log.say("user", `${i + 1}. ${request.repeat(3)}`);
    log.edit(padded(`src/invoices/module-${i % 7}/`, ".js", 120));
    log.say("assistant", `Done with ${i + 1}.`);
  }
  log.todos(Array.from({ length: TODOS_MAX }, (_, i) => ({ content: `${i + 1}. ${TODO}`, status: todoStatus(i) })));
  log.say("user", request.repeat(40).slice(0, LATEST_REQUEST_CHARS));
  const branch = new BranchIndex();
  branch.catchUp(log);
  const rows: NoteRow[] = Array.from({ length: NOTES }, (_, i) => ({
    path: padded(`/root/notes/plans/part-${i}/`, ".md", 160),
    bytes: 1_000 + i * 37,
    updated_at: new Date(Date.UTC(2024, 0, 8, 9, i)).toISOString().replace(/:\d\d\.\d+/, ""),
  }));
  const children = Array.from({ length: CHILDREN_MAX + 4 }, (_, i) => ({
    address: `/root/agent_0123456789a${i.toString(36)}`,
    task: request.slice(0, 100),
  }));
  return nextBootstrap(branch, { identity, notes: { rows, total: NOTES }, children, unsaved: undefined });
}

export function tokenCosts(): TokenCosts {
  const tools = definitions().reduce((sum, one) => sum + tokensIn(one), 0);
  const guidance = tokensIn(GUIDANCE);
  return {
    tools,
    guidance,
    tools_and_guidance: tools + guidance,
    task_tool: tokensIn(taskToolDefinition()),
    full_bootstrap: tokensIn(fullBootstrap()),
    full_bootstrap_chinese: tokensIn(fullBootstrap(CHINESE)),
    empty_bootstrap: tokensIn(emptyBootstrap()),
  };
}
