// Reading one plain file whole. It must never follow a symbolic link, never wait on a pipe, and never take a lock:
// files are replaced by rename, so an open file is either the old content or the new one.
import { constants } from "node:fs";
import { TokenBudgetError } from "../errors.ts";
import { codeOf, type DiskCalls, modifiedMsOf, READ_PLAIN_FLAGS, storageFailure } from "./disk.ts";

/** Windows does not refuse a link when it opens one: there the look before is the only guard. */
const MUST_LOOK_FIRST = constants.O_NOFOLLOW === undefined;
/** What opening says of a link, of a socket, and of a device without a driver. */
const NOT_PLAIN = new Set<string | undefined>(["ELOOP", "ENXIO", "ENODEV"]);

/** A file's bytes, and when they were put there (milliseconds since 1970). */
export interface PlainFile {
  readonly bytes: Buffer;
  readonly modifiedMs: number;
}

function notPlain(shown: string): TokenBudgetError {
  return new TokenBudgetError(
    "refused",
    `${shown} is a symbolic link or not a plain file; only plain files are read and written. Use another path.`,
  );
}

/** The file's content, or undefined when there is none. `shown` names it in errors. */
export function readPlainFile(disk: DiskCalls, file: string, shown: string): PlainFile | undefined {
  try {
    if (MUST_LOOK_FIRST && !disk.lstatSync(file).isFile()) throw notPlain(shown);
    const descriptor = disk.openSync(file, READ_PLAIN_FLAGS);
    try {
      const stats = disk.fstatSync(descriptor);
      if (!stats.isFile()) throw notPlain(shown);
      return { bytes: disk.readFileSync(descriptor), modifiedMs: modifiedMsOf(stats) };
    } finally {
      disk.closeSync(descriptor);
    }
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    if (NOT_PLAIN.has(codeOf(error))) throw notPlain(shown);
    throw storageFailure(error, { shown, doing: "read" });
  }
}
