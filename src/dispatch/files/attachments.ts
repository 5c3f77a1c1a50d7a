// The files attached to a task, checked before anything is stored: plain files of a bounded size.
import { basename, isAbsolute, resolve } from "node:path";
import { type ErrorCode, FieldError, messageOf, shownValue, TokenBudgetError } from "../../errors.ts";
import { kindAt, type PathKind, sizeOf } from "../../storage/blobs.ts";
import type { NewFile } from "./roles.ts";

const ATTACHMENT_MAX_BYTES = 100_000_000;
const ATTACHMENTS_MAX = 50;
const NAME_MAX_CHARS = 255;

/** A plain file of at most 100,000,000 bytes for a task to work on: its path, or more about it. */
export type Attachment =
  | string
  | {
      /** Absolute, or below the dispatcher's `baseDirectory`. */
      readonly path: string;
      /** The name under which the task sees it, at most 255 characters; the last part of the path when left out. */
      readonly name?: string;
    };

/** What is wrong with a path that is no plain file, and the way out. */
const REFUSED_KINDS: Readonly<Record<Exclude<PathKind, "file">, readonly [problem: string, wayOut: string]>> = {
  missing: ["there is no such file", "Check the path."],
  directory: ["it is a directory", "Attach its files one by one, or one archive."],
  link: ["it is a symbolic link, which may lead anywhere", "Attach the file that it leads to."],
  special: ["it is not a plain file", "Attach a plain file."],
};

/** The attachments as files to store. */
export function checkedAttachments(attachments: unknown, base: string): readonly NewFile[] {
  if (attachments === undefined || attachments === null) return [];
  if (!Array.isArray(attachments)) {
    throw new TokenBudgetError(
      "invalid_argument",
      `attachments is ${shownValue(attachments)}; it must be a list of paths, or be left out.`,
    );
  }
  if (attachments.length > ATTACHMENTS_MAX) {
    throw new TokenBudgetError(
      "too_large",
      `attachments has ${attachments.length} entries; a task may have ${ATTACHMENTS_MAX}. Nothing was stored. Attach fewer files, or one archive.`,
    );
  }
  return attachments.map((attachment, index) => checked(attachment, index, base));
}

function checked(attachment: unknown, index: number, base: string): NewFile {
  const given = (typeof attachment === "string" ? { path: attachment } : (attachment ?? {})) as Record<string, unknown>;
  const { path } = given;
  const name = given.name ?? path;
  if (typeof path !== "string" || path === "" || path.includes("\0")) {
    throw refused(index, attachment, "it has no path", "Give the path of a file, or { path, name }.");
  }
  if (typeof name !== "string") throw refused(index, path, "its name is no text", "Give a file name, or leave it out.");
  const source = isAbsolute(path) ? path : resolve(base, path);
  const filename = basename(name.replaceAll("\\", "/")).toWellFormed();
  if (["", ".", ".."].includes(filename) || filename.length > NAME_MAX_CHARS || /\p{Cc}/u.test(filename)) {
    throw refused(index, path, `${shownValue(name)} is no file name`, "Give it a plain name of up to 255 characters.");
  }
  try {
    const kind = kindAt(source);
    if (kind !== "file") throw refused(index, path, ...REFUSED_KINDS[kind]);
    const bytes = sizeOf(source);
    if (bytes <= ATTACHMENT_MAX_BYTES) return { source, filename, role: "input" };
    const limit = ATTACHMENT_MAX_BYTES.toLocaleString("en-US");
    const problem = `it has ${bytes.toLocaleString("en-US")} bytes, and an attachment may have ${limit}`;
    throw refused(index, path, problem, "Attach a smaller file or a part of it.", "too_large");
  } catch (error) {
    if (error instanceof TokenBudgetError) throw error;
    throw refused(index, path, `it cannot be read (${messageOf(error)})`, "Check the path and its permissions.");
  }
}

function refused(
  index: number,
  path: unknown,
  problem: string,
  wayOut: string,
  code: ErrorCode = "invalid_argument",
): TokenBudgetError {
  return new FieldError(code, `attachments[${index}]`, path, `${problem}. Nothing was stored. ${wayOut}`);
}
