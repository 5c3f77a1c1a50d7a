// The file-system calls the storage layer makes, as one injectable object, and the translation of their failures into
// errors a model can act on. It must never swallow a failure, and never make anything others can read.
import nodeFs, { constants } from "node:fs";
import { dirname } from "node:path";
import { messageOf, TokenBudgetError } from "../errors.ts";

/** No device or pipe holds up an open. */
const UNBLOCKED = constants.O_NONBLOCK ?? 0;
/** Only the file itself is opened, never what a link leads to. */
export const PLAIN_FLAGS = (constants.O_NOFOLLOW ?? 0) | UNBLOCKED;
export const READ_PLAIN_FLAGS = constants.O_RDONLY | PLAIN_FLAGS;
export const APPEND_FLAGS = constants.O_RDWR | constants.O_APPEND | PLAIN_FLAGS;
export const CREATING_APPEND_FLAGS = APPEND_FLAGS | constants.O_CREAT;
/** What was there goes. */
export const REPLACE_FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | PLAIN_FLAGS;
/** Never a link. */
const FOLDER_FLAGS = READ_PLAIN_FLAGS | (constants.O_DIRECTORY ?? 0);
/** A link is followed. */
export const READ_FLAGS = constants.O_RDONLY | UNBLOCKED;

/** Directories are for their owner only. */
export const DIRECTORY_MODE = 0o700;
/** Files too. */
export const FILE_MODE = 0o600;

/** The calls of `node:fs` in use, nearly all synchronous; a test hands in its own to make any of them fail. */
export type DiskCalls = Pick<
  typeof nodeFs,
  | "closeSync"
  | "fdatasync"
  | "fdatasyncSync"
  | "fstatSync"
  | "fsyncSync"
  | "ftruncateSync"
  | "linkSync"
  | "lstatSync"
  | "mkdirSync"
  | "openSync"
  | "opendirSync"
  | "readFileSync"
  | "readSync"
  | "readdirSync"
  | "readlinkSync"
  | "realpathSync"
  | "renameSync"
  | "rmSync"
  | "rmdirSync"
  | "unlinkSync"
  | "utimesSync"
  | "writeSync"
>;

export const NODE_DISK: DiskCalls = nodeFs;

/** The errno code of a failed call (`ENOSPC`), or the code of a library's error; undefined when it has none. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** What was being done to what; `shown` is the name the reader of the message knows, as the subject of a sentence. */
export interface Attempt {
  readonly shown: string;
  readonly doing: "written" | "read" | "listed";
}

const WAYS_OUT: Readonly<Record<string, string>> = {
  ENOSPC: "Free disk space, then repeat the call.",
  EDQUOT: "Free disk space, then repeat the call.",
  EROFS: "The disk is read-only: make it writable, then repeat the call.",
  EACCES: "Check the permissions of its directory, then repeat the call.",
  EPERM: "Check the permissions of its directory, then repeat the call.",
  ENOTDIR: "A file is where a folder has to be: move it away, then repeat the call.",
  EMFILE: "Too many files are open: repeat the call in a moment.",
  ENFILE: "Too many files are open: repeat the call in a moment.",
};

const ANY_WAY_OUT = "Repeat the call; if it fails again, tell the user about this message.";

/** A failed file-system call as the package's error; an error that is one already passes unchanged. */
export function storageFailure(error: unknown, attempt: Attempt): TokenBudgetError {
  if (error instanceof TokenBudgetError) return error;
  // A read may be a step of a write: its reader, too, needs to know that nothing happened.
  const kept = attempt.doing === "written" ? "What was there before is unchanged." : "Nothing was changed.";
  const wayOut = WAYS_OUT[codeOf(error) ?? ""] ?? ANY_WAY_OUT;
  const message = `${attempt.shown} could not be ${attempt.doing}: ${messageOf(error)}. ${kept} ${wayOut}`;
  return new TokenBudgetError("storage_failed", message, { cause: error });
}

/** The same of a failed call of the file system alone: what else was thrown, such as a signal's reason, passes unchanged. */
export function ifDiskFailed(error: unknown, attempt: Attempt): unknown {
  return error instanceof Error && "syscall" in error ? storageFailure(error, attempt) : error;
}

/** Writes all of `bytes` at the descriptor's position: a disk that fills up may take a part at a time. */
export function writeWhole(disk: DiskCalls, descriptor: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length; ) {
    const taken = disk.writeSync(descriptor, bytes, written, bytes.length - written);
    if (taken === 0) throw new Error(`only ${written} of ${bytes.length} bytes could be written (is the disk full?)`);
    written += taken;
  }
}

/** Writes a text in one call, so that nothing of another process comes between; throws where the disk takes a part alone. */
export function writeAtOnce(disk: DiskCalls, descriptor: number, text: string): void {
  const bytes = Buffer.from(text, "utf8");
  const taken = disk.writeSync(descriptor, bytes, 0, bytes.length);
  if (taken < bytes.length)
    throw new Error(`only ${taken} of ${bytes.length} bytes could be written (is the disk full?)`);
}

/** When a file was last written, in whole milliseconds: a time that was set reads back a fraction off. */
export function modifiedMsOf(stats: nodeFs.Stats): number {
  return Math.round(stats.mtimeMs);
}

/** Windows opens no folders, and flushes their names by itself. */
const FLUSHES_FOLDERS = process.platform !== "win32";

/** A folder that is about to change, to be flushed: what its files are called is in it, and is flushed apart from them. */
export class ChangingFolder {
  readonly #disk: DiskCalls;
  readonly #descriptor: number | undefined;

  /** Opened before the change, so that what stands in its way is known while there is still time. */
  constructor(disk: DiskCalls, folder: string) {
    this.#disk = disk;
    this.#descriptor = FLUSHES_FOLDERS ? disk.openSync(folder, FOLDER_FLAGS) : undefined;
  }

  /** To be called in any case. The change stands by then; where the disk cannot say that it will last, nothing can be done. */
  close({ flush }: { readonly flush: boolean }): void {
    if (this.#descriptor === undefined) return;
    try {
      if (flush) this.#disk.fsyncSync(this.#descriptor);
    } catch {
      // Some file systems flush no folders.
    }
    try {
      this.#disk.closeSync(this.#descriptor);
    } catch {
      // It is closed all the same.
    }
  }
}

/** Changes what is in a folder; the change is on the disk then. */
export function changeFolder<T>(disk: DiskCalls, folder: string, change: () => T): T {
  const changing = new ChangingFolder(disk, folder);
  let flush = false;
  try {
    const value = change();
    flush = true;
    return value;
  } finally {
    changing.close({ flush });
  }
}

/** Makes directories down to this one; they are on the disk then. */
function makeDirectories(disk: DiskCalls, directory: string): void {
  const first = disk.mkdirSync(directory, { recursive: true, mode: DIRECTORY_MODE });
  if (first === undefined) return;
  for (let made = directory; made.length >= first.length; made = dirname(made)) flushFolder(disk, dirname(made));
}

/** Brings to the disk what a folder holds, as far as the disk can. */
export function flushFolder(disk: DiskCalls, folder: string): void {
  try {
    new ChangingFolder(disk, folder).close({ flush: true });
  } catch {
    // As above.
  }
}

/** Makes sure of a directory of ours, parents included. A link or a file in its place is refused, never followed. */
export function ensurePrivateDirectory(disk: DiskCalls, directory: string): void {
  let stats: nodeFs.Stats;
  try {
    stats = disk.lstatSync(directory);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    makeDirectories(disk, directory);
    stats = disk.lstatSync(directory);
  }
  if (stats.isDirectory()) return;
  const kind = stats.isSymbolicLink() ? "a symbolic link" : "not a directory";
  throw new TokenBudgetError(
    "refused",
    `${directory} is ${kind}; storage only uses real directories there. Remove it or move it away, then repeat the call.`,
  );
}
