// What may be attached to a task: plain files of a bounded size, checked before anything is stored.
import { basename, isAbsolute, resolve } from "node:path";
import { messageOf, shownValue, TokenBudgetError } from "../../errors.ts";
import { kindAt, sizeOf } from "../../storage/blobs.ts";
import type { NewFile } from "../record/rules.ts";

/** Largest attachment. */
export const ATTACHMENT_MAX_BYTES = 100_000_000;
export const ATTACHMENTS_MAX = 50;
const NAME_MAX_CHARS = 255;

/** A plain file of at most 100,000,000 bytes for a task to work on; its path alone will do. */
export type Attachment =
  | string
  | {
      /** Absolute, or below the dispatcher's `baseDirectory`. */
      readonly path: string;
      /** What the task sees it called, at most 255 characters; the last part of the path when left out. */
      readonly name?: string;
    };

function refused(index: number, path: unknown, problem: string, wayOut: string): TokenBudgetError {
  return new TokenBudgetError(
    "invalid_argument",
    `attachments[${index}] is ${shownValue(path)}: ${problem}. Nothing was stored. ${wayOut}`,
  );
}

function checkedName(index: number, path: string, name: string): string {
  const plain = basename(name.replaceAll("\\", "/")).toWellFormed();
  if (plain === "" || plain === "." || plain === ".." || plain.length > NAME_MAX_CHARS || /\p{Cc}/u.test(plain)) {
    throw refused(index, path, `${shownValue(name)} is no file name`, "Give it a plain name of up to 255 characters.");
  }
  return plain;
}

function checked(attachment: unknown, index: number, base: string): NewFile {
  const given =
    typeof attachment === "string" ? { path: attachment } : (attachment as { path?: unknown; name?: unknown } | null);
  const path = given?.path;
  if (typeof path !== "string" || path === "" || path.includes("\0")) {
    throw refused(index, attachment, "it has no path", "Give the path of a file, or { path, name }.");
  }
  const name = (given as { name?: unknown }).name ?? path;
  if (typeof name !== "string") throw refused(index, path, "its name is no text", "Give a file name, or leave it out.");
  const source = isAbsolute(path) ? path : resolve(base, path);
  const filename = checkedName(index, path, name);
  try {
    switch (kindAt(source)) {
      case "missing":
        throw refused(index, path, "there is no such file", "Check the path.");
      case "directory":
        throw refused(index, path, "it is a directory", "Attach its files one by one, or one archive.");
      case "link":
        throw refused(
          index,
          path,
          "it is a symbolic link, which may lead anywhere",
          "Attach the file that it leads to.",
        );
      case "special":
        throw refused(index, path, "it is not a plain file", "Attach a plain file.");
      case "file":
        break;
    }
    const bytes = sizeOf(source);
    if (bytes <= ATTACHMENT_MAX_BYTES) return { source, filename, role: "input" };
    const limit = ATTACHMENT_MAX_BYTES.toLocaleString("en-US");
    throw new TokenBudgetError(
      "too_large",
      `attachments[${index}] is ${shownValue(path)}: it has ${bytes.toLocaleString("en-US")} bytes, and an attachment may have ${limit}. Nothing was stored. Attach a smaller file or a part of it.`,
    );
  } catch (error) {
    if (error instanceof TokenBudgetError) throw error;
    throw refused(index, path, `it cannot be read (${messageOf(error)})`, "Check the path and its permissions.");
  }
}

/** The attachments as files to store; throws with the number, the path, the rule and the way out. */
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
