// A small file that says which process something belongs to, so that who finds it later can tell whether that one still
// runs. Half a note names no process.
import { isRecord } from "../shapes.ts";
import { writeNewText } from "./blobs.ts";
import { type DiskCalls, NODE_DISK } from "./disk.ts";
import { readPlainFile } from "./plain-file.ts";
import type { ProcessName } from "./processes.ts";
import { removeTree } from "./tree.ts";

/** Writes the note in the place of any other. */
export function writeProcessNote(path: string, { pid, start }: ProcessName, disk: DiskCalls = NODE_DISK): void {
  removeTree(disk, path);
  writeNewText(path, JSON.stringify({ pid, start }), disk);
}

/** Undefined where there is none, or one that says nothing; throws where it cannot be read, so that it is left alone. */
export function readProcessNote(path: string, disk: DiskCalls = NODE_DISK): ProcessName | undefined {
  const content = readPlainFile(disk, path, "The note of a process");
  const note = content && parsed(content.bytes);
  if (!isRecord(note) || !Number.isSafeInteger(note.pid) || Number(note.pid) < 1) return undefined;
  return { pid: Number(note.pid), start: typeof note.start === "string" ? note.start : null };
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    // Half a note of a killed process.
    return undefined;
  }
}
