// Children of pi-subagents that ran without this package: session files below their parent's that belong to no agent of the
// task. Only reads.
import { join } from "node:path";
import { type DiskCalls, NODE_DISK } from "../storage/disk.ts";

/** Runs that are looked at, the newest by name order of the host. */
const RUNS_MAX = 200;
const RUN_FOLDER = /^run-\d+$/;

function namesIn(disk: DiskCalls, folder: string): readonly string[] {
  try {
    return disk.readdirSync(folder);
  } catch {
    // Not there, or no folder.
    return [];
  }
}

function modifiedMs(disk: DiskCalls, file: string): number | undefined {
  try {
    return disk.lstatSync(file).mtimeMs;
  } catch {
    return undefined;
  }
}

/** `<session file without .jsonl>/<run id>/run-<n>/session.jsonl`, and forks of the parent in `forks/`. */
function childSessionFiles(sessionFile: string, disk: DiskCalls): readonly string[] {
  const folder = sessionFile.replace(/\.jsonl$/, "");
  return namesIn(disk, folder)
    .slice(-RUNS_MAX)
    .flatMap((run) => {
      const inside = namesIn(disk, join(folder, run));
      if (run === "forks")
        return inside.filter((name) => name.endsWith(".jsonl")).map((name) => join(folder, run, name));
      return inside.filter((name) => RUN_FOLDER.test(name)).map((name) => join(folder, run, name, "session.jsonl"));
    });
}

export interface StrayInputs {
  /** Of the parent; undefined for a session in memory, whose children lie elsewhere. */
  readonly sessionFile: string | undefined;
  /** The session files of the agents of the task. */
  readonly agents: ReadonlySet<string>;
  /** Milliseconds since 1970: what was written before is of an earlier start. */
  readonly sinceMs: number;
}

/** Session files of children that are no agents of the task. */
export function strays({ sessionFile, agents, sinceMs }: StrayInputs, disk = NODE_DISK): readonly string[] {
  if (sessionFile === undefined) return [];
  return childSessionFiles(sessionFile, disk).filter((file) => {
    return !agents.has(file) && (modifiedMs(disk, file) ?? Number.NEGATIVE_INFINITY) >= sinceMs;
  });
}
