// Where the optional libraries that read documents are, when they are installed. They are imported by nobody but the
// worker that needs one.
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { isFile } from "../subagents/packages.ts";
import type { WorkerRequest } from "./worker-program.ts";

interface Library {
  readonly name: string;
  /** Its main file, by where it lies in the package. */
  readonly file: string;
}

export const LIBRARIES: Readonly<Record<WorkerRequest["form"], Library>> = {
  spreadsheet: { name: "@e965/xlsx", file: "xlsx.js" },
  word: { name: "mammoth", file: "lib/index.js" },
  pdf: { name: "unpdf", file: "dist/index.mjs" },
};

/** File URL of a library; undefined when it is not installed. Node's own search, upwards from this package. */
export function libraryUrl(
  form: WorkerRequest["form"],
  from: string | undefined = import.meta.url,
): string | undefined {
  // A bundle has no place from which to look.
  if (from === undefined) return undefined;
  const { name, file } = LIBRARIES[form];
  for (let folder = dirname(fileURLToPath(from)); ; folder = dirname(folder)) {
    const path = join(folder, "node_modules", ...name.split("/"), ...file.split("/"));
    if (isFile(path)) return pathToFileURL(path).href;
    if (dirname(folder) === folder) return undefined;
  }
}
