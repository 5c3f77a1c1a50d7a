// The text of a document, for a model to read: a path and a bound in, text or a reason out. It never changes the file, and
// never throws but for an aborted signal. Spreadsheets, Word documents and PDFs are parsed in a worker (worker.ts).
import { messageOf } from "../errors.ts";
import { sizeOf } from "../storage/blobs.ts";
import { NODE_DISK } from "../storage/disk.ts";
import { readPlainFile } from "../storage/plain-file.ts";
import { formOf } from "./forms.ts";
import { htmlText } from "./html.ts";
import { boundedText, type Extracted, pagesText, sheetsText } from "./render.ts";
import { libraryOf, parsedInWorker } from "./worker.ts";
import type { ParsedForm } from "./worker-program.ts";

const FILE_MAX_BYTES = 50_000_000;
const PARSE_LIMIT_MS = 60_000;

export type Extraction =
  | ({ readonly type: "text" } & Extracted)
  /** Why there is no text, as the end of "no text: …". */
  | { readonly type: "none"; readonly reason: string };

export interface ExtractOptions {
  readonly signal?: AbortSignal | undefined;
  /** File URL of the module whose `node_modules` are searched; this one by default. */
  readonly librariesFrom?: string | undefined;
  readonly limitMs?: number | undefined;
}

const none = (reason: string): Extraction => ({ type: "none", reason });

/** At most `maxChars` of the file's text, and a line that says what was cut. */
export async function extractText(path: string, maxChars: number, options: ExtractOptions = {}): Promise<Extraction> {
  const { signal } = options;
  signal?.throwIfAborted();
  try {
    const bytes = sizeOf(path);
    if (bytes === 0) return none("the file is empty");
    const form = formOf(path);
    if (form === "other") return none("this kind of file is not read here; use your tools");
    if (bytes > FILE_MAX_BYTES) return none("the file is too large to be read here; use your tools");
    if (form === "text" || form === "html") return plainText(path, form, maxChars);
    return await parsedText(path, form, maxChars, options);
  } catch (error) {
    signal?.throwIfAborted();
    return none(`${messageOf(error)}; read the file with your tools`);
  }
}

const BYTE_ORDER_MARKS = [
  { bytes: [0xef, 0xbb, 0xbf], encoding: "utf-8" },
  { bytes: [0xff, 0xfe], encoding: "utf-16le" },
  { bytes: [0xfe, 0xff], encoding: "utf-16be" },
] as const;

/** Undefined for binary content. */
function decodedText(bytes: Buffer): string | undefined {
  const mark = BYTE_ORDER_MARKS.find((each) => each.bytes.every((byte, index) => bytes[index] === byte));
  if (mark) return new TextDecoder(mark.encoding).decode(bytes);
  if (bytes.subarray(0, 8_192).includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // Excel on Windows saves CSV in this encoding.
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

function plainText(path: string, form: "text" | "html", maxChars: number): Extraction {
  const content = readPlainFile(NODE_DISK, path, "The file");
  const text = content && decodedText(content.bytes);
  if (text === undefined) return none("its bytes are no text, whatever its name says; look at it with your tools");
  return { type: "text", ...boundedText(form === "html" ? htmlText(text) : text, maxChars) };
}

async function parsedText(
  path: string,
  form: ParsedForm,
  maxChars: number,
  { signal, librariesFrom, limitMs = PARSE_LIMIT_MS }: ExtractOptions,
): Promise<Extraction> {
  const { name, url: library } = libraryOf(form, librariesFrom);
  if (library === undefined)
    return none(`the optional library ${name} is not installed; read the file with your tools`);
  const answer = await parsedInWorker({ form, library, path, maxChars }, limitMs, signal);
  switch (answer.type) {
    case "sheets":
      return { type: "text", ...sheetsText(answer.sheets, answer.leftOut, maxChars) };
    case "html": {
      const text = htmlText(answer.html);
      if (text.trim() === "") return none("the document holds no text");
      return { type: "text", ...boundedText(text, maxChars, "document") };
    }
    case "pages":
      if (answer.pages.every((page) => page.trim() === ""))
        return none("its pages hold no text; they may be scanned images");
      return { type: "text", ...pagesText(answer.pages, answer.totalPages, maxChars) };
    case "failed":
      return none(`${failureOf(answer)}; read the file with your tools`);
  }
}

function failureOf({ name, message }: { name: string; message: string }): string {
  if (/password|encrypt/i.test(`${name} ${message}`)) return "the file is protected by a password";
  return `the file could not be read and may be damaged (${message.split("\n", 1)[0]?.slice(0, 200)})`;
}
