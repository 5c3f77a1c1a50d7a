// What another program passes on to join a child to a root task: which task it is, and who the child is in it. Pure.
import { isAbsolute } from "node:path";
import { shownValue, TokenBudgetError } from "../errors.ts";
import { childAddress, parentAddress } from "./addresses.ts";
import { type Category, parseCategory } from "./category.ts";

export const TASK_CONTEXT_VERSION = 1;

/** Names one root task. It holds no secret and may be written down; every version of the package reads older ones. */
export interface TaskContext {
  /** Of this shape; a newer one is refused. */
  readonly version: typeof TASK_CONTEXT_VERSION;
  /** The id of the root session, 1 to 256 characters. */
  readonly runId: string;
  /** Absolute path of the directory that holds everything of the task. */
  readonly storageRoot: string;
  /** The same as `runId`. */
  readonly rootSessionId: string;
}

/** A task, and which agent of it the session becomes. */
export interface TaskMembership extends TaskContext {
  /** Address of an agent of the task, below which this one is placed; `/root` when left out. */
  readonly parentAgentName?: string;
  /**
   * One or more names below the parent (`reviewer`, `reviewer/checker`), or an absolute address there; an automatic one
   * when left out. Names are `a-z`, `0-9` and `_`; an address has at most 512 characters.
   */
  readonly agentName?: string;
  /** A declaration: null for ordinary content, or the parent's own category. The parent's is inherited when left out. */
  readonly category?: Category;
  /**
   * True where the session is of no use outside its task: one that cannot join fails at its start and sends nothing to a
   * model. Left out or false, it continues apart from the task, and says so.
   */
  readonly required?: boolean;
}

/** A child as its launcher places it: what a membership says besides the context. */
export type ChildPlace = Omit<TaskMembership, keyof TaskContext>;

/** Longest id of a session or a run, in characters. */
export const ID_MAX_CHARS = 256;
const PATH_MAX_CHARS = 4_096;
const CONTROL_CHARACTER = /\p{Cc}/u;

const FIELDS = [
  "version",
  "runId",
  "storageRoot",
  "rootSessionId",
  "parentAgentName",
  "agentName",
  "category",
  "required",
] as const;
const CONTEXT_FIELDS = FIELDS.slice(0, 4);
type Field = (typeof FIELDS)[number];
const HOW_TO =
  "Pass { ...task.context, parentAgentName, agentName?, category?, required? } with the context of the parent's task";

export function isMembershipField(field: string): boolean {
  return (FIELDS as readonly string[]).includes(field);
}

/** Whether a text can be the id of a session or a run. */
export function isId(value: unknown): value is string {
  return (
    typeof value === "string" &&
    value.trim() !== "" &&
    value.length <= ID_MAX_CHARS &&
    value.isWellFormed() &&
    !CONTROL_CHARACTER.test(value)
  );
}

export function isAbsolutePath(value: unknown): value is string {
  return (
    typeof value === "string" &&
    isAbsolute(value) &&
    value.length <= PATH_MAX_CHARS &&
    value.isWellFormed() &&
    !value.includes("\0")
  );
}

/** What is checked, as messages name it, and how it is made. */
interface Checked {
  readonly name: string;
  readonly fields: readonly string[];
  readonly howTo: string;
}

const MEMBERSHIP: Checked = { name: "task", fields: FIELDS, howTo: HOW_TO };
const CONTEXT: Checked = {
  name: "context",
  fields: CONTEXT_FIELDS,
  howTo: "Pass task.context of the session, as getTokenBudgetTask answers it",
};

function malformed({ name, howTo }: Checked, field: string, value: unknown, rule: string): TokenBudgetError {
  return new TokenBudgetError("invalid_argument", `${name}.${field} is ${shownValue(value)}; ${rule}. ${howTo}.`);
}

function assertFields(value: unknown, checked: Checked): asserts value is Readonly<Record<Field, unknown>> {
  const { name, fields, howTo } = checked;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new TokenBudgetError("invalid_argument", `${name} is ${shownValue(value)}, not an object. ${howTo}.`);
  }
  for (const field of Object.keys(value)) {
    if (fields.includes(field)) continue;
    const message = `${name} has the unknown field ${shownValue(field)}; there are ${fields.join(", ")}. ${howTo}.`;
    throw new TokenBudgetError("unknown_field", message);
  }
  for (const field of CONTEXT_FIELDS) {
    if (Object.hasOwn(value, field)) continue;
    throw new TokenBudgetError("missing_field", `${name}.${field} is missing. ${howTo}.`);
  }
}

function assertVersion(version: unknown, checked: Checked): void {
  if (version === TASK_CONTEXT_VERSION) return;
  if (Number.isSafeInteger(version) && Number(version) > TASK_CONTEXT_VERSION) {
    throw new TokenBudgetError(
      "newer_format",
      `${checked.name}.version is ${version}, and this version of pi-token-budget reads up to ${TASK_CONTEXT_VERSION}. Update pi-token-budget in the child.`,
    );
  }
  throw malformed(checked, "version", version, `it must be ${TASK_CONTEXT_VERSION}`);
}

function contextIn(value: Readonly<Record<Field, unknown>>, checked: Checked): TaskContext {
  const { version, runId, storageRoot, rootSessionId } = value;
  assertVersion(version, checked);
  const rule = `it must be the root's session id, 1 to ${ID_MAX_CHARS} characters`;
  if (!isId(runId)) throw malformed(checked, "runId", runId, rule);
  if (!isId(rootSessionId)) throw malformed(checked, "rootSessionId", rootSessionId, rule);
  // With two ids, half of each task would be read.
  if (runId !== rootSessionId) {
    const message = `it is unlike runId ${shownValue(runId)}, and a context names one root task by both`;
    throw malformed(checked, "rootSessionId", rootSessionId, message);
  }
  if (!isAbsolutePath(storageRoot)) throw malformed(checked, "storageRoot", storageRoot, "it must be an absolute path");
  return { version: TASK_CONTEXT_VERSION, runId, storageRoot, rootSessionId };
}

/** A context from outside, checked; throws with the field, its value, the rule and the way out. */
export function parseContext(value: unknown): TaskContext {
  assertFields(value, CONTEXT);
  return contextIn(value, CONTEXT);
}

function optionalText(field: "parentAgentName" | "agentName", value: unknown): string | undefined {
  if (value === undefined || typeof value === "string") return value;
  throw malformed(MEMBERSHIP, field, value, "it must be a string, or be left out");
}

/** A membership from outside, checked; throws with the field, its value, the rule and the way out. */
export function parseMembership(value: unknown): TaskMembership {
  assertFields(value, MEMBERSHIP);
  const context = contextIn(value, MEMBERSHIP);
  const parentAgentName = optionalText("parentAgentName", value.parentAgentName);
  const agentName = optionalText("agentName", value.agentName);
  const parent = parentAddress(parentAgentName);
  if (agentName !== undefined) childAddress(parent, agentName);
  const { required } = value;
  if (required !== undefined && typeof required !== "boolean")
    throw malformed(MEMBERSHIP, "required", required, "it must be true or false, or be left out");
  return {
    ...context,
    ...(parentAgentName === undefined ? {} : { parentAgentName }),
    ...(agentName === undefined ? {} : { agentName }),
    ...(value.category === undefined ? {} : { category: parseCategory(value.category, "task.category") }),
    ...(required === undefined ? {} : { required }),
  };
}
