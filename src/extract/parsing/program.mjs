// @ts-check
// The program of the parsing worker (../worker.ts): reads one document with optional libraries, and answers its content.
// JavaScript, not TypeScript: Node runs it as it is, in a checkout and in the packed form alike.
import { parentPort, workerData } from "node:worker_threads";
import { pdfDocument, wordDocument } from "./documents.mjs";
import { htmlDocument, plainDocument } from "./plain.mjs";
import { workbook } from "./workbook.mjs";

/** @typedef {import("../answers.ts").WorkerAnswer} WorkerAnswer */
/** @typedef {import("../answers.ts").WorkerRequest} WorkerRequest */

const READERS = {
  text: plainDocument,
  html: htmlDocument,
  spreadsheet: workbook,
  word: wordDocument,
  pdf: pdfDocument,
};

/** @param {any} error @returns {WorkerAnswer} */
function failure(error) {
  // A library that is not there, not a module inside one.
  const [, library] = /^Cannot find package '([^']+)'/.exec(error?.message ?? "") ?? [];
  if (error?.code === "ERR_MODULE_NOT_FOUND" && library) return { type: "missing", library };
  const name = String(error?.name ?? "Error");
  return { type: "failed", name, message: String(error?.message ?? error).slice(0, 500) };
}

// Libraries write warnings to the console, which belongs to the host's screen.
for (const name of /** @type {const} */ (["log", "info", "warn", "error", "debug"])) console[name] = () => {};

/** @type {WorkerRequest} */
const { form, bytes, maxChars } = workerData;
const answer = await READERS[form](Buffer.from(bytes.buffer), maxChars).catch(failure);
parentPort?.postMessage(answer);
