// Keeps a folder of ours out of every git work tree around it, so that no transcript is committed by accident.
import { join } from "node:path";
import { writeNewText } from "./blobs.ts";
import { type DiskCalls, ensurePrivateDirectory, NODE_DISK } from "./disk.ts";

/** It matches the file itself too. */
const EVERYTHING = "# Written by pi-token-budget: notes and transcripts are not for the repository.\n*\n";

/** One call where the folder has a `.gitignore` already, which stays as it is. It never throws: a write that matters follows. */
export function keepOutOfGit(folder: string, disk: DiskCalls = NODE_DISK): void {
  try {
    ensurePrivateDirectory(disk, folder);
    writeNewText(join(folder, ".gitignore"), EVERYTHING, disk);
  } catch {
    // There already; or the disk fails, and the write behind this one says so.
  }
}
