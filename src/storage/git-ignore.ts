// Keeps a folder of ours out of every git work tree around it, so that no transcript is committed by accident.
import { join } from "node:path";
import { writeNewText } from "./blobs.ts";
import { type DiskCalls, ensurePrivateDirectory, NODE_DISK } from "./disk.ts";

/** It matches the file itself too. */
const EVERYTHING = "# Written by pi-token-budget: notes and transcripts are not for the repository.\n*\n";

/** A `.gitignore` that is there stays as it is. Never throws: the write that follows reports what is wrong. */
export function keepOutOfGit(folder: string, disk: DiskCalls = NODE_DISK): void {
  try {
    ensurePrivateDirectory(disk, folder);
    writeNewText(join(folder, ".gitignore"), EVERYTHING, disk);
  } catch {
    // It is there already, or the disk fails, which the next write reports.
  }
}
