// Removes what a root task has left on the disk: when a person asks, and by itself where its root has no session file. It
// must never remove what a running session uses, nor the host's own session files.
import { randomUUID } from "node:crypto";
import { dirname, join } from "node:path";
import { shownValue, TokenBudgetError } from "../errors.ts";
import { diskNowMs } from "../storage/clocks.ts";
import { type DiskCalls, NODE_DISK } from "../storage/disk.ts";
import { removeTree, walkPlainFiles } from "../storage/tree.ts";
import { ROOT_ADDRESS } from "./addresses.ts";
import type { TaskContext } from "./context.ts";
import { isEphemeral, memoryFolder, rootNotes, taskLayout, tasksFolder } from "./layout.ts";
import { Locators } from "./locator.ts";
import { Registry } from "./registry.ts";

/** How long others leave a task alone that ended in good order: its root may come back, as in a reload. */
const ENDED_REST_MS = 600_000;
/**
 * How long nothing must have been written before a task is swept that crashed elsewhere, or in an unknown place: its process
 * may still run where its id cannot be seen, in a container or on another machine with the same home.
 */
const CRASHED_REST_MS = 86_400_000;

/** A file's time comes from its disk, or from a process that has set it: how far the two may differ. */
const AHEAD_MAX_MS = 60_000;

/** Prefix of a folder that is being removed: no session's folder begins with a dot. */
const FORGOTTEN = ".forgotten-";

export interface ForgetOptions {
  readonly agentDir: string;
  readonly disk?: DiskCalls | undefined;
}

/** Removes everything of a root task; throws `refused` while one of its agents runs. */
export async function removeTask(context: TaskContext, { agentDir, disk = NODE_DISK }: ForgetOptions): Promise<void> {
  const { storageRoot, rootSessionId } = context;
  const registry = new Registry({ context, disk });
  const locators = new Locators({ agentDir, disk });
  const isWhole = isEphemeral(storageRoot, agentDir);
  const directory = isWhole ? storageRoot : registry.layout.directory;
  const forgotten = join(dirname(directory), `${FORGOTTEN}${randomUUID()}`);
  await registry.remove((roster) => {
    for (const agent of roster) for (const file of locators.filesOf(context, agent)) removeTree(disk, file);
    const notes = rootNotes(storageRoot, rootSessionId);
    if (!isWhole) for (const path of [notes, `${notes}.meta`]) removeTree(disk, path);
    // The lock is in it: the next session starts with new folders, and an unfinished removal takes nothing from it.
    disk.renameSync(directory, forgotten);
  });
  removeTree(disk, forgotten);
}

/** The ended or open root tasks of a storage, by the folders they lie in; the newest first. */
export function tasksIn(storageRoot: string, { disk = NODE_DISK }: Pick<ForgetOptions, "disk">): readonly string[] {
  try {
    const names = disk.readdirSync(tasksFolder(storageRoot));
    // Ids of the host's sessions begin with their time.
    return names
      .filter((name) => !name.startsWith(FORGOTTEN))
      .sort()
      .reverse();
  } catch {
    return [];
  }
}

/** When the root of a task last wrote, ISO 8601, by its journal or its registry; undefined when neither is there. */
export function lastWritten(
  storageRoot: string,
  runId: string,
  { disk = NODE_DISK }: Pick<ForgetOptions, "disk"> = {},
): string | undefined {
  const { registry, history } = taskLayout(storageRoot, { runId, rootSessionId: runId });
  const journal = history(ROOT_ADDRESS);
  const files = [registry, ...namesIn(disk, journal).map((name) => join(journal, name))];
  const times = files.flatMap((file) => {
    try {
      return [disk.lstatSync(file).mtimeMs];
    } catch {
      return [];
    }
  });
  return times.length === 0 ? undefined : new Date(Math.max(...times)).toISOString();
}

/** The root task whose id begins like this; throws when there is none, or more than one. */
export function taskNamed(storageRoot: string, prefix: string, options: Pick<ForgetOptions, "disk">): TaskContext {
  const found = tasksIn(storageRoot, options).filter((name) => name.startsWith(prefix));
  const [only, ...others] = found.includes(prefix) ? [prefix] : found;
  if (only === undefined) {
    const message = `No session ${shownValue(prefix)} has left anything in ${storageRoot}.`;
    throw new TokenBudgetError("not_found", message);
  }
  if (others.length > 0) {
    const message = `${shownValue(prefix)} is the beginning of ${found.length} ids: ${found.slice(0, 5).join(", ")}. Give more of it.`;
    throw new TokenBudgetError("invalid_argument", message);
  }
  return { version: 1, runId: only, rootSessionId: only, storageRoot };
}

/** Removes the task of a root without a session file, once no process runs an agent of it. */
export async function endEphemeral(context: TaskContext, options: ForgetOptions): Promise<void> {
  if (!isEphemeral(context.storageRoot, options.agentDir)) return;
  try {
    await removeTask(context, options);
  } catch {
    // Its children still run; the next start finds it.
  }
}

export interface SweepOptions extends ForgetOptions {
  /** The sweeping session's own storage: never removed, whatever its registry says; unfinished removals in it are finished. */
  readonly own?: string | undefined;
}

/** Removes what roots without a session file have left, once their processes are gone. Called at start; never throws. */
export async function sweepEphemeral(options: SweepOptions): Promise<void> {
  const { agentDir, own, disk = NODE_DISK } = options;
  const folder = memoryFolder(agentDir);
  const names = namesIn(disk, folder);
  removeForgotten(disk, folder, names);
  if (own !== undefined) removeForgotten(disk, tasksFolder(own));
  for (const name of names) {
    const storageRoot = join(folder, name);
    if (storageRoot === own || name.startsWith(FORGOTTEN)) continue;
    for (const run of namesIn(disk, tasksFolder(storageRoot))) {
      const context: TaskContext = { version: 1, runId: run, rootSessionId: run, storageRoot };
      if (isLeftBehind(context, disk)) await endEphemeral(context, options);
    }
  }
}

/** Finishes removals in a folder that were cut off. */
function removeForgotten(disk: DiskCalls, folder: string, names = namesIn(disk, folder)): void {
  for (const name of names.filter((one) => one.startsWith(FORGOTTEN))) {
    try {
      removeTree(disk, join(folder, name));
    } catch {
      // Another process removes it too, or will.
    }
  }
}

function isLeftBehind(context: TaskContext, disk: DiskCalls): boolean {
  const registry = new Registry({ context, disk });
  const { storageRoot } = context;
  try {
    const agents = registry.read().map((agent) => ({ ...agent, fate: registry.fateOf(agent) }));
    if (agents.some(({ fate }) => fate === "running")) return false;
    if (agents.some(({ fate }) => fate === "unknown")) {
      const paths = walkPlainFiles(disk, storageRoot, () => true).files.map(({ path }) => join(storageRoot, path));
      return measureRest(disk, storageRoot, paths) > CRASHED_REST_MS;
    }
    // Its root was killed on this machine and cannot come back.
    if (agents.some(({ parent, fate }) => parent === null && fate === "gone")) return true;
    return measureRest(disk, storageRoot, [registry.layout.registry]) > ENDED_REST_MS;
  } catch {
    // One that cannot be read says nothing of who runs: it stays.
    return false;
  }
}

/**
 * How long none of the files was written, by the clock of their disk. A time in the future, from a clock that was set right
 * since, is set to now: the wait begins again.
 */
function measureRest(disk: DiskCalls, storageRoot: string, files: readonly string[]): number {
  const nowMs = diskNowMs(disk, join(dirname(storageRoot), `${FORGOTTEN}${randomUUID()}`));
  return nowMs - Math.max(...files.map((file) => correctedTimeMs(disk, file, nowMs)));
}

function correctedTimeMs(disk: DiskCalls, file: string, nowMs: number): number {
  const { mtimeMs } = disk.lstatSync(file);
  if (mtimeMs <= nowMs + AHEAD_MAX_MS) return mtimeMs;
  disk.utimesSync(file, new Date(nowMs), new Date(nowMs));
  return nowMs;
}

function namesIn(disk: DiskCalls, folder: string): readonly string[] {
  try {
    return disk.readdirSync(folder);
  } catch {
    // Not there, or not readable: nothing of ours to remove.
    return [];
  }
}
