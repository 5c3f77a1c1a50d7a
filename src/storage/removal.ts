// Removing one file, so that it stays removed: its folder is flushed too.
import { dirname } from "node:path";
import { changeFolder, type DiskCalls, NODE_DISK } from "./disk.ts";
import { insistGone } from "./stale-locks.ts";

/** One that is gone is removed. */
export function removeFile(path: string, disk: DiskCalls = NODE_DISK): void {
  changeFolder(disk, dirname(path), () => insistGone(() => disk.unlinkSync(path)));
}
