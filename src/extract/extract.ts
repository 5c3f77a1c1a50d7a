// The text of a document, for a model to read: a path and a bound in, text or a reason out. It never changes the file, and
// never throws but for an aborted signal. Everything but UTF-8 text is parsed in a worker (worker.ts).
import { messageOf } from "../errors.ts";
import { sizeOf } from "../storage/blobs.ts";
import { NODE_DISK } from "../storage/disk.ts";
import { readPlainFile } from "../storage/plain-file.ts";
import { textIfUtf8 } from "../storage/text.ts";
import type { WorkerAnswer, WorkerRequest } from "./answers.ts";
import { formOf, isTable } from "./forms.ts";
import { boundedText, type Extracted, pagesText, sheetsText } from "./render.ts";
import { parsedInWorker, parsingProgram } from "./worker.ts";

const FILE_MAX_BYTES = 50_000_000;
const PARSE_LIMIT_MS = 60_000;

export type Extraction =
  | ({ readonly type: "text" } & Extracted)
  /** Why there is no text, as the end of "no text: …". */
  | { readonly type: "none"; readonly reason: string };

export interface ExtractOptions {
  readonly signal?: AbortSignal | undefined;
  /** The parsing worker's program; by default the one beside this module. */
  readonly program?: URL | undefined;
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
    const content = readPlainFile(NODE_DISK, path, "The file");
    if (content === undefined) return none("the file is gone");
    const text = form === "text" ? textIfUtf8(content.bytes) : undefined;
    if (text !== undefined) return { type: "text", ...boundedText(text, maxChars, { isTable: isTable(path) }) };
    // A copy of its own: small buffers share one.
    return await parsed({ form, bytes: Uint8Array.from(content.bytes), maxChars }, path, options);
  } catch (error) {
    signal?.throwIfAborted();
    return none(`${messageOf(error)}; read the file with your tools`);
  }
}

async function parsed(
  request: WorkerRequest,
  path: string,
  { signal, program = parsingProgram(), limitMs = PARSE_LIMIT_MS }: ExtractOptions,
): Promise<Extraction> {
  if (program === undefined) return none("documents are not read in a bundled program; read the file with your tools");
  const answer = await parsedInWorker(program, request, limitMs, signal);
  return extractionOf(answer, request, isTable(path));
}

function extractionOf(answer: WorkerAnswer, { form, maxChars }: WorkerRequest, isRows: boolean): Extraction {
  switch (answer.type) {
    case "text": {
      if (answer.text.trim() === "") return none("the document holds no text");
      const name = form === "word" ? "document" : undefined;
      return {
        type: "text",
        ...boundedText(answer.text, maxChars, { name, guess: answer.guess, isTable: isRows }),
      };
    }
    case "sheets":
      return { type: "text", ...sheetsText(answer.sheets, answer.leftOut, maxChars) };
    case "pages":
      if (answer.pages.every((page) => page.trim() === ""))
        return none("its pages hold no text; they may be scanned images");
      return { type: "text", ...pagesText(answer.pages, answer.totalPages, maxChars) };
    case "binary":
      return none("its bytes are no text, whatever its name says; look at it with your tools");
    case "missing":
      return none(`the optional library ${answer.library} is not installed; read the file with your tools`);
    case "failed":
      return none(`${failureOf(answer)}; read the file with your tools`);
  }
}

function failureOf({ name, message }: { readonly name: string; readonly message: string }): string {
  if (/password|encrypt/i.test(`${name} ${message}`)) return "the file is protected by a password";
  return `the file could not be read and may be damaged (${message.split("\n", 1)[0]?.slice(0, 200)})`;
}
