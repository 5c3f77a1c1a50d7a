// A private place for a local socket: a new folder only its owner can enter, on a path short enough for sockets.
import { lstatSync, mkdtempSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** macOS takes 103 bytes and Linux 107; some versions of Node cut a longer path off silently. */
export const SOCKET_PATH_MAX_BYTES = 103;

const SOCKET_NAME = "plan.sock";
/** What the end of the folder's name will take. */
const RANDOM_CHARS = "XXXXXX";

export interface SocketFolder {
  readonly socketPath: string;
  /** Removes the socket too. Never throws. */
  remove(): void;
}

/** Where to try, in this order: the temporary folders whose paths are short enough. */
export function socketBases(candidates: readonly string[] = [tmpdir(), "/tmp"]): readonly string[] {
  const lengthIn = (base: string) => Buffer.byteLength(join(base, `${PREFIX}${RANDOM_CHARS}`, SOCKET_NAME));
  return [...new Set(candidates)].filter((base) => lengthIn(base) <= SOCKET_PATH_MAX_BYTES);
}

const PREFIX = "pi-token-budget-acp-";

/** Fails when nothing can be made there. */
export function makeSocketFolder(base: string): SocketFolder {
  // Made with mode 0700.
  return socketFolder(mkdtempSync(join(base, PREFIX)));
}

function socketFolder(folder: string): SocketFolder {
  const socketPath = join(folder, SOCKET_NAME);
  return {
    socketPath,
    remove: () => {
      try {
        rmSync(socketPath, { force: true });
        // Only when it is empty: anything else in it is not ours.
        rmdirSync(folder);
      } catch {
        // All that stays is a folder among the temporary ones.
      }
    },
  };
}

/** A folder exists for a moment before its socket listens; one with another time than now is not new. */
const YOUNG_MS = 10_000;
/** As `mkdtemp` makes them. */
const FOLDER_NAME = new RegExp(`^${PREFIX}[A-Za-z0-9]{${RANDOM_CHARS.length}}$`);
/** Looked at in one sweep. */
const LEFT_MAX = 64;

/** Whether it is the person's own, not quite new, and holds a socket of ours or nothing. */
function isLeft(folder: string): boolean {
  try {
    const stats = lstatSync(folder);
    const { uid, mtimeMs } = stats;
    const isOwn = process.getuid === undefined || uid === process.getuid();
    if (!isOwn || !stats.isDirectory() || Math.abs(Date.now() - mtimeMs) <= YOUNG_MS) return false;
    return readdirSync(folder).every((name) => name === SOCKET_NAME && lstatSync(join(folder, name)).isSocket());
  } catch {
    return false;
  }
}

/** The person's own socket folders that are not quite new; whether one is still in use is for its socket to say. */
export function leftSocketFolders(bases: readonly string[]): readonly SocketFolder[] {
  return bases.flatMap((base) => {
    try {
      const names = readdirSync(base).filter((name) => FOLDER_NAME.test(name));
      const folders = names.map((name) => join(base, name)).filter(isLeft);
      return folders.slice(0, LEFT_MAX).map(socketFolder);
    } catch {
      // It cannot be listed: remove nothing.
      return [];
    }
  });
}
