// The processes of a runner in a process of its own: a group that it leads, noted beside its files, so that all of it can be
// ended, by this process or by the one that finds it after a kill. What has left the group (each command of Pi's bash leads
// one of its own) is known by a variable of its environment, on Linux.
import { join } from "node:path";
import { readProcessNote, writeProcessNote } from "../../storage/process-note.ts";
import { processesWith, processNamed, RUN_VARIABLE } from "../../storage/processes.ts";

const NOTE = "process.json";
/** What is being started while the others are ended is met by the next round. */
const ROUNDS_MAX = 5;

/** Whether processes are started as leaders of a group; Windows has no such groups. */
export const HAS_GROUPS = process.platform !== "win32";

/** The environment of a run's processes; `folder` is the run's own. */
export function runEnvironment(env: Readonly<Record<string, string | undefined>>, folder: string) {
  const outer = env[RUN_VARIABLE];
  return { ...env, [RUN_VARIABLE]: outer === undefined ? folder : `${outer}\n${folder}` };
}

/** Ends a run's group, and what has left it. */
export function endRun(pid: number, folder: string): void {
  signalGroup(pid, "SIGKILL");
  endStrays(folder);
}

function endStrays(folder: string): void {
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const strays = processesWith(RUN_VARIABLE, (value) => value.split("\n").includes(folder));
    if (strays.length === 0) return;
    for (const stray of strays) kill(stray, "SIGKILL");
  }
}

/** A group that has ended already is no error. */
export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  kill(HAS_GROUPS ? -pid : pid, signal);
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // All of it has ended.
  }
}

export function noteGroup(folder: string, pid: number): void {
  writeProcessNote(join(folder, NOTE), processNamed(pid));
}

/**
 * Ends what a process that is gone had started, by its note in the folder. Only where the system says when processes started:
 * elsewhere the id may be another program's by now.
 */
export function endNotedGroup(folder: string): void {
  const leader = readProcessNote(join(folder, NOTE));
  if (leader === undefined || leader.start === null) return;
  if (processNamed(leader.pid).start === leader.start) signalGroup(leader.pid, "SIGKILL");
  endStrays(folder);
}
