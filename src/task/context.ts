// What another program passes on to join a child to a root task: which task it is, and who the child is in it. Pure.
import { isAbsolute } from "node:path";
import { shownValue, TokenBudgetError } from "../errors.ts";
import { childAddress, parentAddress } from "./addresses.ts";
import { type Category, parseCategory } from "./category.ts";

export const TASK_CONTEXT_VERSION = 1;

/** Names one root task. It holds no secret and may be written down; every version of the package reads older ones. */
export interface TaskContext {
  readonly version: typeof TASK_CONTEXT_VERSION;
  /** The id of the root session. */
  readonly runId: string;
  /** Absolute path of the directory that holds everything of the task. */
  readonly storageRoot: string;
  readonly rootSessionId: string;
}

/** A task, and who the session that is given this is in it. */
export interface TaskMembership extends TaskContext {
  /** Address of an agent of the task; the root when left out. */
  readonly parentAgentName?: string;
  /** A name below the parent, or an absolute address there; an automatic one when left out. */
  readonly agentName?: string;
  /** A declaration: null for ordinary content, or the parent's own category. The parent's is inherited when left out. */
  readonly category?: Category;
}

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
] as const;
type Field = (typeof FIELDS)[number];
const HOW_TO = "Pass { ...task.context, parentAgentName, agentName?, category? } with the context of the parent's task";

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

function malformed(field: string, value: unknown, rule: string): TokenBudgetError {
  return new TokenBudgetError("invalid_argument", `task.${field} is ${shownValue(value)}; ${rule}. ${HOW_TO}.`);
}

function assertFields(value: unknown): asserts value is Readonly<Record<Field, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new TokenBudgetError("invalid_argument", `task is ${shownValue(value)}, not an object. ${HOW_TO}.`);
  }
  for (const field of Object.keys(value)) {
    if ((FIELDS as readonly string[]).includes(field)) continue;
    const message = `task has the unknown field ${shownValue(field)}; there are ${FIELDS.join(", ")}. ${HOW_TO}.`;
    throw new TokenBudgetError("unknown_field", message);
  }
  for (const field of FIELDS.slice(0, 4)) {
    if (Object.hasOwn(value, field)) continue;
    throw new TokenBudgetError("missing_field", `task.${field} is missing. ${HOW_TO}.`);
  }
}

function assertVersion(version: unknown): void {
  if (version === TASK_CONTEXT_VERSION) return;
  if (Number.isSafeInteger(version) && Number(version) > TASK_CONTEXT_VERSION) {
    throw new TokenBudgetError(
      "newer_format",
      `task.version is ${version}, and this version of pi-token-budget reads up to ${TASK_CONTEXT_VERSION}. Update pi-token-budget in the child.`,
    );
  }
  throw malformed("version", version, `it must be ${TASK_CONTEXT_VERSION}`);
}

function optionalText(field: "parentAgentName" | "agentName", value: unknown): string | undefined {
  if (value === undefined || typeof value === "string") return value;
  throw malformed(field, value, "it must be a string, or be left out");
}

/** A membership from outside, checked; throws with the field, its value, the rule and the way out. */
export function parseMembership(value: unknown): TaskMembership {
  assertFields(value);
  const { version, runId, storageRoot, rootSessionId } = value;
  assertVersion(version);
  if (!isId(runId))
    throw malformed("runId", runId, `it must be the root's session id, 1 to ${ID_MAX_CHARS} characters`);
  if (!isId(rootSessionId)) {
    throw malformed(
      "rootSessionId",
      rootSessionId,
      `it must be the root's session id, 1 to ${ID_MAX_CHARS} characters`,
    );
  }
  if (!isAbsolutePath(storageRoot)) throw malformed("storageRoot", storageRoot, "it must be an absolute path");
  const parentAgentName = optionalText("parentAgentName", value.parentAgentName);
  const agentName = optionalText("agentName", value.agentName);
  const parent = parentAddress(parentAgentName);
  if (agentName !== undefined) childAddress(parent, agentName);
  return {
    version: TASK_CONTEXT_VERSION,
    runId,
    storageRoot,
    rootSessionId,
    ...(parentAgentName === undefined ? {} : { parentAgentName }),
    ...(agentName === undefined ? {} : { agentName }),
    ...(value.category === undefined ? {} : { category: parseCategory(value.category, "task.category") }),
  };
}
