// The text of an attachment, for the child to read. A failure is a note with its reason and never stops a task. Documents
// are read in a worker with bounds on time and memory, so that a hostile file costs neither the session nor its patience.
import { Worker } from "node:worker_threads";
import { formOf } from "../dispatch/files/names.ts";
import { messageOf } from "../errors.ts";
import { sizeOf } from "../storage/blobs.ts";
import { NODE_DISK } from "../storage/disk.ts";
import { readPlainFile } from "../storage/plain-file.ts";
import { htmlText } from "./html.ts";
import { LIBRARIES, libraryUrl } from "./libraries.ts";
import { boundedText, type Extracted, pagesText, sheetsText } from "./render.ts";
import { WORKER_CODE, type WorkerAnswer, type WorkerRequest } from "./worker-program.ts";

/** Larger files are left to the child's own tools. */
const EXTRACT_MAX_BYTES = 50_000_000;
const WORKER_LIMIT_MS = 60_000;
const WORKER_MEMORY_MB = 512;

export type Extraction =
  | ({ readonly type: "text" } & Extracted)
  /** Why there is none, as the end of "no text: …". */
  | { readonly type: "none"; readonly reason: string };

export interface ExtractOptions {
  /** Characters of the text. */
  readonly maxChars: number;
  readonly signal?: AbortSignal | undefined;
  /** Where libraries are looked for; this package. */
  readonly librariesFrom?: string | undefined;
  readonly limitMs?: number | undefined;
}

const none = (reason: string): Extraction => ({ type: "none", reason });

/** The text of the file at `path`, whose form its name says. Never throws but for an aborted signal. */
export async function extractText(path: string, name: string, options: ExtractOptions): Promise<Extraction> {
  options.signal?.throwIfAborted();
  try {
    const bytes = sizeOf(path);
    if (bytes === 0) return none("the file is empty");
    const form = formOf(name);
    if (form === "other") return none("this kind of file is not read here; use your tools");
    if (bytes > EXTRACT_MAX_BYTES) return none("the file is too large to be read here; use your tools");
    if (form === "text" || form === "html") return plainText(path, form, options.maxChars);
    return await document(form, path, options);
  } catch (error) {
    options.signal?.throwIfAborted();
    return none(`${messageOf(error)}; read the file with your tools`);
  }
}

const BYTE_ORDER_MARKS = [
  { bytes: [0xef, 0xbb, 0xbf], encoding: "utf-8" },
  { bytes: [0xff, 0xfe], encoding: "utf-16le" },
  { bytes: [0xfe, 0xff], encoding: "utf-16be" },
] as const;

/** Text of the usual encodings; undefined for bytes that are no text. */
function decodedText(bytes: Buffer): string | undefined {
  const mark = BYTE_ORDER_MARKS.find((each) => each.bytes.every((byte, index) => bytes[index] === byte));
  if (mark) return new TextDecoder(mark.encoding).decode(bytes);
  if (bytes.subarray(0, 8_192).includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // What spreadsheets on Windows write as CSV.
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

function plainText(path: string, form: "text" | "html", maxChars: number): Extraction {
  const content = readPlainFile(NODE_DISK, path, "The attachment");
  const text = content && decodedText(content.bytes);
  if (text === undefined) return none("its bytes are no text, whatever its name says; look at it with your tools");
  return { type: "text", ...boundedText(form === "html" ? htmlText(text) : text, maxChars) };
}

async function document(form: WorkerRequest["form"], path: string, options: ExtractOptions): Promise<Extraction> {
  const library = libraryUrl(form, options.librariesFrom);
  if (library === undefined) {
    return none(`the optional library ${LIBRARIES[form].name} is not installed; read the file with your tools`);
  }
  const { maxChars, signal, limitMs = WORKER_LIMIT_MS } = options;
  const answer = await inWorker({ form, library, path, maxChars }, limitMs, signal);
  switch (answer.type) {
    case "sheets":
      return { type: "text", ...sheetsText(answer.sheets, answer.leftOut, maxChars) };
    case "html": {
      const text = htmlText(answer.html);
      return text.trim() === ""
        ? none("the document holds no text")
        : { type: "text", ...boundedText(text, maxChars, "document") };
    }
    case "pages": {
      const isBlank = answer.pages.every((page) => page.trim() === "");
      return isBlank
        ? none("its pages hold no text; they may be scanned images")
        : { type: "text", ...pagesText(answer.pages, answer.totalPages, maxChars) };
    }
    case "failed":
      return none(`${failureOf(answer)}; read the file with your tools`);
  }
}

function failureOf({ name, message }: { name: string; message: string }): string {
  if (/password|encrypt/i.test(`${name} ${message}`)) return "the file is protected by a password";
  return `the file could not be read and may be damaged (${message.split("\n", 1)[0]?.slice(0, 200)})`;
}

function inWorker(request: WorkerRequest, limitMs: number, signal: AbortSignal | undefined): Promise<WorkerAnswer> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(WORKER_CODE, {
      eval: true,
      execArgv: [],
      stdout: true,
      stderr: true,
      workerData: request,
      resourceLimits: { maxOldGenerationSizeMb: WORKER_MEMORY_MB },
    });
    const end = (finish: () => void) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      void worker.terminate();
      finish();
    };
    const onAbort = () => end(() => reject(signal?.reason));
    const timer = setTimeout(() => {
      end(() => reject(new Error(`reading it took longer than ${limitMs / 1_000} s`)));
    }, limitMs);
    signal?.addEventListener("abort", onAbort, { once: true });
    worker.once("message", (answer: WorkerAnswer) => end(() => resolve(answer)));
    worker.once("error", (error) => end(() => reject(error)));
    worker.once("exit", () => end(() => reject(new Error("its reader ended without an answer"))));
  });
}
