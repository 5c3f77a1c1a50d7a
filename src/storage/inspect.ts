// Looks at places on the disk without changing them, for a report to a person: whether they can be written, whether others
// can read them, and which locks are stale. It never throws.
import nodeFs from "node:fs";
import { dirname, join } from "node:path";
import { messageOf } from "../errors.ts";
import { codeOf } from "./disk.ts";
import { STALE_LOCK_MS } from "./lock.ts";
import { isLockName } from "./lock-calls.ts";

export type PlaceState =
  | { readonly type: "fine" }
  /** Made with the first write; its nearest folder that exists can be written. */
  | { readonly type: "absent" }
  | { readonly type: "unwritable"; readonly path: string; readonly reason: string }
  /** Other users of this machine can read it. */
  | { readonly type: "open_to_others"; readonly path: string; readonly mode: string };

const OTHERS = 0o077;
const PERMISSIONS = 0o777;

/** Windows has no such permissions. */
const HAS_MODES = process.platform !== "win32";

function statsOf(path: string): nodeFs.Stats | undefined {
  try {
    return nodeFs.lstatSync(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

function nearestThere(path: string): string {
  return statsOf(path) || dirname(path) === path ? path : nearestThere(dirname(path));
}

/** The state of a folder of ours. */
export function placeState(folder: string): PlaceState {
  try {
    const there = nearestThere(folder);
    if (!nodeFs.lstatSync(there).isDirectory()) return { type: "unwritable", path: there, reason: "it is no folder" };
    nodeFs.accessSync(there, nodeFs.constants.W_OK | nodeFs.constants.X_OK);
    if (there !== folder) return { type: "absent" };
    const mode = nodeFs.lstatSync(folder).mode & PERMISSIONS;
    if (HAS_MODES && (mode & OTHERS) !== 0) return { type: "open_to_others", path: folder, mode: mode.toString(8) };
    return { type: "fine" };
  } catch (error) {
    return { type: "unwritable", path: folder, reason: messageOf(error) };
  }
}

/**
 * Locks that have not been kept fresh, so that the next writer takes them over: those in folders, and single files. What lies
 * beside a lock, such as a request for a turn, is none.
 */
export function staleLocks(folders: readonly string[], files: readonly string[]): readonly string[] {
  const inFolder = (folder: string): string[] => {
    try {
      const names = nodeFs.readdirSync(folder).filter(isLockName);
      return names.map((name) => join(folder, name));
    } catch {
      // No folder, no locks; one that cannot be read is a matter of its permissions.
      return [];
    }
  };
  return [...folders.flatMap(inFolder), ...files].filter((path) => {
    try {
      const stats = statsOf(path);
      // A time in the future is not fresh either.
      return stats !== undefined && Math.abs(Date.now() - stats.mtimeMs) > STALE_LOCK_MS;
    } catch {
      return false;
    }
  });
}
