// The processes of a runner in a process of its own: a group that it leads, noted beside its files, so that all of it can be
// ended, by this process or by the one that finds it after a kill.
import { join } from "node:path";
import { readProcessNote, writeProcessNote } from "../../storage/process-note.ts";
import { processNamed } from "../../storage/processes.ts";

const NOTE = "process.json";

/** Whether processes are started as leaders of a group; Windows has no such groups. */
export const HAS_GROUPS = process.platform !== "win32";

/** A group that has ended already is no error. */
export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(HAS_GROUPS ? -pid : pid, signal);
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
}
