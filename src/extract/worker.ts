// Parses a document with an optional library, in a worker with bounds on time and memory: a hostile file can neither block
// the session nor exhaust its memory.
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { kindAt } from "../storage/blobs.ts";
import { type ParsedForm, WORKER_PROGRAM, type WorkerAnswer, type WorkerRequest } from "./worker-program.ts";

const MEMORY_MB = 512;

/** The library of each form, and its main file within the package. */
const LIBRARIES: Readonly<Record<ParsedForm, { readonly name: string; readonly file: string }>> = {
  spreadsheet: { name: "@e965/xlsx", file: "xlsx.js" },
  word: { name: "mammoth", file: "lib/index.js" },
  pdf: { name: "unpdf", file: "dist/index.mjs" },
};

/** Searches `node_modules` upwards as Node does; the file URL is undefined when the library is not installed. */
export function libraryOf(
  form: ParsedForm,
  from: string | undefined = import.meta.url,
): { readonly name: string; readonly url: string | undefined } {
  const { name, file } = LIBRARIES[form];
  // A bundle has no place on disk to search from.
  if (from === undefined) return { name, url: undefined };
  for (let folder = dirname(fileURLToPath(from)); ; folder = dirname(folder)) {
    const path = join(folder, "node_modules", ...name.split("/"), ...file.split("/"));
    if (kindAt(path) !== "missing") return { name, url: pathToFileURL(path).href };
    if (dirname(folder) === folder) return { name, url: undefined };
  }
}

/** Rejects when the time is over, the signal aborts, or the worker dies. */
export function parsedInWorker(
  request: WorkerRequest,
  limitMs: number,
  signal: AbortSignal | undefined,
): Promise<WorkerAnswer> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(WORKER_PROGRAM, {
      eval: true,
      execArgv: [],
      stdout: true,
      stderr: true,
      workerData: request,
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    });
    const end = (finish: () => void) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      void worker.terminate();
      finish();
    };
    const onAbort = () => end(() => reject(signal?.reason));
    const timer = setTimeout(
      () => end(() => reject(new Error(`reading it took longer than ${limitMs / 1_000} s`))),
      limitMs,
    );
    signal?.addEventListener("abort", onAbort, { once: true });
    worker.once("message", (answer: WorkerAnswer) => end(() => resolve(answer)));
    worker.once("error", (error) => end(() => reject(error)));
    worker.once("exit", () => end(() => reject(new Error("its reader ended without an answer"))));
  });
}
