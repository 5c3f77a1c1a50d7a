// A root task for a program that is no Pi session: it makes one, and places children in it. `/root` is then no session:
// children are below it, and may write notes there.
import { randomUUID } from "node:crypto";
import { assertObject, type CheckedObject, FILLED_TEXT, fieldOf, optional } from "../options.ts";
import { storageFailure } from "../storage/disk.ts";
import { keepOutOfGit } from "../storage/git-ignore.ts";
import { writeTaskEntry } from "../subagents/child-entry.ts";
import { ROOT_ADDRESS } from "../task/addresses.ts";
import {
  type ChildPlace,
  isAbsolutePath,
  parseContext,
  TASK_CONTEXT_VERSION,
  type TaskContext,
} from "../task/context.ts";
import { noSuchTask, Registry } from "../task/registry.ts";
import { assertChildPlace } from "./root-task.ts";

/** Which root task, and where it is stored. */
export interface CreateTaskOptions {
  /**
   * Absolute path of a folder for everything of the task and for nothing else: it gets a `.gitignore` that leaves all of it
   * out of git. Made when it is not there. Several tasks may share one.
   */
  readonly storageRoot: string;
  /** The id of the task, 1 to 256 characters; a random one when left out. The same id gives the same task again. */
  readonly runId?: string;
}

/** What `writeChildExtension` needs to know besides the child. */
export interface ChildExtensionOptions {
  /**
   * Absolute path of the folder of this package, from which children load it; for programs that bundle it. Left out, it
   * is where this code lies.
   */
  readonly packageDirectory?: string;
}

const TASK: CheckedObject = {
  of: "createTask",
  what: "the options",
  fields: { storageRoot: fieldOf("an absolute path", isAbsolutePath), runId: optional(FILLED_TEXT) },
};
const EXTENSION: CheckedObject = {
  of: "writeChildExtension",
  what: "the options",
  fields: { packageDirectory: optional(FILLED_TEXT) },
};

/**
 * Makes a root task that has no session of its own, for a program whose sessions are all children: pass the context to
 * `createTokenBudgetExtension({ task: { ...context, agentName? } })`, `writeChildExtension` and `openTask`. Children are
 * ordinary, unless `setAgentCategory` has decided otherwise about `/root`. A task that is there already stays as it is.
 * Only removing its folder removes it.
 *
 * @throws TokenBudgetError `invalid_argument`, `unknown_field`, `missing_field`: the options; `storage_failed`: the folder
 * cannot be made.
 */
export function createTask(options: CreateTaskOptions): TaskContext {
  assertObject(options, TASK);
  const { storageRoot, runId = randomUUID() } = options;
  const context = parseContext({ version: TASK_CONTEXT_VERSION, runId, storageRoot, rootSessionId: runId });
  const registry = new Registry({ context });
  if (registry.holdsTask()) return context;
  try {
    keepOutOfGit(storageRoot);
    registry.makeDirectory();
  } catch (error) {
    throw storageFailure(error, { shown: `The root task in ${storageRoot}`, doing: "written" });
  }
  return context;
}

/**
 * Writes the extension with which a child in a process of its own joins a root task (`pi -e <path>`), and answers its
 * absolute path; for programs that have the context alone. A session's own task has `childExtension`. Without a place it
 * is for any number of children with automatic names below `/root`.
 *
 * @throws TokenBudgetError (rejects) `invalid_argument`, `unknown_field`, `missing_field`, `invalid_address`, `newer_format`:
 * context, place or options; `not_found`: no such task; `storage_failed`: it cannot be written.
 */
export async function writeChildExtension(
  context: TaskContext,
  child: ChildPlace = {},
  options: ChildExtensionOptions = {},
): Promise<string> {
  const task = parseContext(context);
  assertChildPlace(EXTENSION.of, child);
  assertObject(options, EXTENSION);
  const registry = new Registry({ context: task });
  if (!registry.holdsTask()) throw noSuchTask(task);
  return writeTaskEntry({ context: task, registry, agent: ROOT_ADDRESS }, { ...options, child });
}
