// Which processes run. A process is named by its id and, where the system says, by when it started: ids are used again.
import { type DiskCalls, NODE_DISK } from "./disk.ts";

export interface ProcessName {
  readonly pid: number;
  /** Which boot of the machine and which moment of it; null where the system does not say. */
  readonly start: string | null;
}

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

function startOf(pid: number, disk: DiskCalls): string | null {
  if (process.platform !== "linux") return null;
  const stat = text(disk, `/proc/${pid}/stat`);
  const boot = text(disk, "/proc/sys/kernel/random/boot_id");
  // The command may hold brackets and spaces itself.
  const ticks = stat
    ?.slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .at(START_FIELD);
  return ticks === undefined || boot === undefined ? null : `${boot.trim()}:${ticks}`;
}

export function thisProcess(disk: DiskCalls = NODE_DISK): ProcessName {
  return { pid: process.pid, start: startOf(process.pid, disk) };
}

/** Whether that process, and not a later one with its id, still runs. Where nobody can tell it counts as running. */
export function isRunning(name: ProcessName, disk: DiskCalls = NODE_DISK): boolean {
  try {
    process.kill(name.pid, 0);
  } catch (error) {
    // Somebody else's process is there all the same.
    if (!(error instanceof Error && "code" in error && error.code === "EPERM")) return false;
  }
  const start = startOf(name.pid, disk);
  return start === null || name.start === null || start === name.start;
}
