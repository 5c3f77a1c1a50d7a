// Which processes run. A process is named by its id and, where the system says, by when it started: ids are reused. One
// that cannot be seen is known to be gone only in the place where its id was given.
import { hostname } from "node:os";
import { type DiskCalls, NODE_DISK } from "./disk.ts";
import type { ProcessPlace } from "./process-place.ts";

export interface ProcessName {
  readonly pid: number;
  /** The boot of the machine and the time since then; null where the system does not say. */
  readonly start: string | null;
}

/** `unknown`: it may run where it cannot be seen from here. */
export type Fate = "running" | "gone" | "unknown";

/** In the environment of the processes of a task's run: its folder, and those of the runs it is nested in, one a line. */
export const RUN_VARIABLE = "PI_TOKEN_BUDGET_TASK_RUN";

/** In `/proc/<pid>/stat`, behind the command's closing bracket, counted from 0. */
const START_FIELD = 19;

function text(disk: DiskCalls, file: string): string | undefined {
  try {
    const descriptor = disk.openSync(file, "r");
    try {
      return disk.readFileSync(descriptor).toString("utf8");
    } finally {
      disk.closeSync(descriptor);
    }
  } catch {
    return undefined;
  }
}

function bootId(disk: DiskCalls): string | undefined {
  return text(disk, "/proc/sys/kernel/random/boot_id")?.trim();
}

function startOf(pid: number, disk: DiskCalls): string | null {
  if (process.platform !== "linux") return null;
  const stat = text(disk, `/proc/${pid}/stat`);
  const boot = bootId(disk);
  // The command may hold brackets and spaces itself.
  const ticks = stat
    ?.slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .at(START_FIELD);
  return ticks === undefined || boot === undefined ? null : `${boot}:${ticks}`;
}

export function processNamed(pid: number, disk: DiskCalls = NODE_DISK): ProcessName {
  return { pid, start: startOf(pid, disk) };
}

/** The processes whose environment has this variable, whoever started them; none where the system does not say. */
export function processesWith(
  name: string,
  isWanted: (value: string) => boolean,
  disk: DiskCalls = NODE_DISK,
): readonly number[] {
  if (process.platform !== "linux") return [];
  const start = `${name}=`;
  return disk
    .readdirSync("/proc")
    .map(Number)
    .filter((pid) => {
      if (!Number.isSafeInteger(pid) || pid === process.pid) return false;
      // What another user runs cannot be read, and is none of ours.
      const variable = text(disk, `/proc/${pid}/environ`)
        ?.split("\0")
        .find((each) => each.startsWith(start));
      return variable !== undefined && isWanted(variable.slice(start.length));
    });
}

export function thisProcess(disk: DiskCalls = NODE_DISK): ProcessName {
  return processNamed(process.pid, disk);
}

/** Whether that process, and not a later one with its id, still runs. Where this is unknown it counts as running. */
export function isRunning(name: ProcessName, disk: DiskCalls = NODE_DISK): boolean {
  try {
    process.kill(name.pid, 0);
  } catch (error) {
    // Another user's process: it runs.
    if (!(error instanceof Error && "code" in error && error.code === "EPERM")) return false;
  }
  return isSameStart(name, { pid: name.pid, start: startOf(name.pid, disk) });
}

/** Whether two names with one id may be of one process. */
export function isSameStart(a: ProcessName, b: ProcessName): boolean {
  return a.start === null || b.start === null || a.start === b.start;
}

/** Where this process runs; undefined where the system does not say. */
export function thisPlace(disk: DiskCalls = NODE_DISK): ProcessPlace | undefined {
  if (process.platform !== "linux") return undefined;
  const boot = bootId(disk);
  if (!boot) return undefined;
  try {
    const pids = disk.readlinkSync("/proc/self/ns/pid");
    return { host: hostname(), machine: text(disk, "/etc/machine-id")?.trim() || null, boot, pids };
  } catch {
    return undefined;
  }
}

/** What has become of a process that ran in a place. */
export function fateOf(name: ProcessName, place: ProcessPlace | undefined, disk: DiskCalls = NODE_DISK): Fate {
  if (isRunning(name, disk)) return "running";
  const here = place && thisPlace(disk);
  if (!place || here?.host !== place.host) return "unknown";
  if (here.boot === place.boot) return here.pids === place.pids ? "gone" : "unknown";
  // The machine has been restarted since, unless another machine has its name.
  return place.machine !== null && here.machine === place.machine ? "gone" : "unknown";
}
