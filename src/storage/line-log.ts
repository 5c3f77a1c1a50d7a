// A file of whole lines that several processes append to: each line is one write, so that none mixes with another's. A line
// that a killed process left half written is closed off by the next one, and is no line to who reads.
import { constants } from "node:fs";
import { dirname } from "node:path";
import {
  type DiskCalls,
  ensurePrivateDirectory,
  FILE_MODE,
  flushFolder,
  NODE_DISK,
  PLAIN_FLAGS,
  storageFailure,
  writeAtOnce,
} from "./disk.ts";

const NEWLINE = 0x0a;
const APPEND_FLAGS = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | PLAIN_FLAGS;

/** Whether the file ends with a whole line; one that is empty does. */
function endsWhole(disk: DiskCalls, descriptor: number, size: number): boolean {
  if (size === 0) return true;
  const last = Buffer.alloc(1);
  disk.readSync(descriptor, last, 0, 1, size - 1);
  return last[0] === NEWLINE;
}

export interface AppendOptions {
  /** The file as an error names it: the subject of a sentence. */
  readonly shown: string;
  /** Left out, the system brings the lines to the disk when it likes. */
  readonly flush?: boolean;
  readonly disk?: DiskCalls;
}

/** Appends one line each. */
export function appendLines(
  path: string,
  lines: readonly string[],
  { shown, flush = false, disk = NODE_DISK }: AppendOptions,
): void {
  try {
    ensurePrivateDirectory(disk, dirname(path));
    const descriptor = disk.openSync(path, APPEND_FLAGS, FILE_MODE);
    try {
      const text = lines.map((line) => `${line}\n`).join("");
      const { size } = disk.fstatSync(descriptor);
      writeAtOnce(disk, descriptor, endsWhole(disk, descriptor, size) ? text : `\n${text}`);
      if (flush) disk.fdatasyncSync(descriptor);
      if (flush && size === 0) flushFolder(disk, dirname(path));
    } finally {
      disk.closeSync(descriptor);
    }
  } catch (error) {
    throw storageFailure(error, { shown, doing: "written" });
  }
}
