// A private place for a local socket: a new folder that only its owner can enter, on a path short enough for sockets.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** macOS takes 103 bytes and Linux 107; some versions of Node cut a longer path off without a word. */
export const SOCKET_PATH_MAX_BYTES = 103;

const SOCKET_NAME = "plan.sock";
/** What the end of the folder's name will take. */
const RANDOM_CHARS = "XXXXXX";

export interface SocketFolder {
  readonly socketPath: string;
  /** Takes the socket along. Never throws. */
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
  const folder = mkdtempSync(join(base, PREFIX));
  return {
    socketPath: join(folder, SOCKET_NAME),
    remove: () => {
      try {
        rmSync(folder, { recursive: true, force: true });
      } catch {
        // An empty folder among the temporary ones is all that stays.
      }
    },
  };
}
