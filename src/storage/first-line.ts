// The first line of a file that is not ours, without reading the rest: session files grow to hundreds of megabytes.
import { type DiskCalls, NODE_DISK, READ_FLAGS } from "./disk.ts";

const LONGEST_LINE_BYTES = 65_536;
const NEWLINE = 0x0a;

/** The line without its end; undefined when there is no such plain file, or no end of line in reach. */
export function readFirstLine(file: string, disk: DiskCalls = NODE_DISK): string | undefined {
  try {
    const descriptor = disk.openSync(file, READ_FLAGS);
    try {
      if (!disk.fstatSync(descriptor).isFile()) return undefined;
      const bytes = Buffer.alloc(LONGEST_LINE_BYTES);
      const end = bytes.subarray(0, disk.readSync(descriptor, bytes, 0, bytes.length, 0)).indexOf(NEWLINE);
      return end < 0 ? undefined : bytes.toString("utf8", 0, end);
    } finally {
      disk.closeSync(descriptor);
    }
  } catch {
    return undefined;
  }
}
