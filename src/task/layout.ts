// Where a session's data lies on disk. Pure: it joins paths, it does not look at them.
import { dirname, join } from "node:path";
import type { SessionIdentity } from "../host/host.ts";

const STORAGE_FOLDER = "pi-token-budget";
/** Sessions without a file have a folder of their own below the agent directory. */
const MEMORY_FOLDER = "memory";

export interface StorageLayout {
  /** Everything of the root session's directory lies below it. */
  readonly root: string;
  /** The notes of this root session. */
  readonly notesRoot: string;
}

export function storageLayout(session: SessionIdentity, agentDir: string): StorageLayout {
  const root =
    session.sessionFile === undefined
      ? join(agentDir, STORAGE_FOLDER, MEMORY_FOLDER)
      : join(dirname(session.sessionFile), STORAGE_FOLDER);
  return { root, notesRoot: join(root, "notes", session.sessionId) };
}
