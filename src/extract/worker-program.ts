// The program that runs in the parsing worker, as plain JavaScript in a string: a worker needs a file or a string, and this
// package runs from its sources and from a bundle alike. It answers raw content; render.ts turns that into text.

export type ParsedForm = "spreadsheet" | "word" | "pdf";

export interface WorkerRequest {
  readonly form: ParsedForm;
  /** File URL of the library. */
  readonly library: string;
  readonly path: string;
  /** The worker stops reading after so many characters. */
  readonly maxChars: number;
}

/** A sheet's cells as the sheet displays them. */
export interface SheetContent {
  readonly name: string;
  readonly rows: readonly (readonly string[])[];
  readonly totalRows: number;
}

export type WorkerAnswer =
  | { readonly type: "sheets"; readonly sheets: readonly SheetContent[]; readonly leftOut: number }
  | { readonly type: "html"; readonly html: string }
  | { readonly type: "pages"; readonly pages: readonly string[]; readonly totalPages: number }
  | { readonly type: "failed"; readonly name: string; readonly message: string };

export const WORKER_PROGRAM = `
const { parentPort, workerData } = require("node:worker_threads");
const { readFileSync } = require("node:fs");
const { form, library, path, maxChars } = workerData;

// Libraries write warnings to the console, which belongs to the host's screen.
for (const name of ["log", "info", "warn", "error", "debug"]) console[name] = () => {};

// The library gives no text for formats with plain dots between parts of a date, such as dd.mm.yyyy.
function dotsEscaped(format) {
  return format.replace(/"[^"]*"|\\\\.|\\[[^\\]]*\\]|\\.(?!0)/g, (part) => (part === "." ? "\\\\." : part));
}

function shown(XLSX, cell, date1904) {
  if (!cell || cell.t === "z") return "";
  if (cell.w !== undefined) return String(cell.w);
  try {
    if (cell.t === "n" && cell.z) return XLSX.SSF.format(dotsEscaped(String(cell.z)), cell.v, { date1904 });
  } catch {}
  return String(XLSX.utils.format_cell(cell) ?? "");
}

// The library takes anything for a table of text; a workbook is a ZIP or an OLE file.
function isWorkbook(bytes) {
  return [[0x50, 0x4b, 3, 4], [0xd0, 0xcf, 0x11, 0xe0]].some((start) => start.every((byte, at) => bytes[at] === byte));
}

function spreadsheet(XLSX) {
  const bytes = readFileSync(path);
  if (!isWorkbook(bytes)) throw new Error("it is no workbook");
  const book = XLSX.read(bytes, { dense: true, cellHTML: false, cellFormula: false, cellNF: true });
  const date1904 = Boolean(book.Workbook?.WBProps?.date1904);
  const sheets = [];
  let chars = 0;
  let leftOut = 0;
  for (const name of book.SheetNames) {
    const sheet = book.Sheets[name];
    const data = (sheet && sheet["!data"]) || [];
    if (chars >= maxChars) { leftOut++; continue; }
    const covered = new Set();
    for (const { s, e } of (sheet && sheet["!merges"]) || []) {
      if ((e.r - s.r + 1) * (e.c - s.c + 1) > 100000) continue;
      for (let r = s.r; r <= e.r; r++) for (let c = s.c; c <= e.c; c++) if (r !== s.r || c !== s.c) covered.add(r + ":" + c);
    }
    const rows = [];
    for (let r = 0; r < data.length && chars < maxChars; r++) {
      const cells = data[r] || [];
      const row = [];
      for (let c = 0; c < cells.length; c++) row.push(covered.has(r + ":" + c) ? "" : shown(XLSX, cells[c], date1904));
      while (row.length > 0 && row[row.length - 1] === "") row.pop();
      for (const text of row) chars += text.length + 1;
      chars++;
      rows.push(row);
    }
    sheets.push({ name, rows, totalRows: data.length });
  }
  return { type: "sheets", sheets, leftOut };
}

async function word(mammoth) {
  const ignore = mammoth.images.imgElement(async () => ({ src: "" }));
  const { value } = await mammoth.convertToHtml({ buffer: readFileSync(path) }, { convertImage: ignore });
  return { type: "html", html: value };
}

async function pdf({ getDocumentProxy }) {
  const document = await getDocumentProxy(new Uint8Array(readFileSync(path)), { verbosity: 0, isEvalSupported: false });
  const pages = [];
  let chars = 0;
  for (let n = 1; n <= document.numPages && chars < maxChars; n++) {
    const { items } = await (await document.getPage(n)).getTextContent();
    const text = items.map((item) => (item.str ?? "") + (item.hasEOL ? "\\n" : "")).join("");
    chars += text.length;
    pages.push(text);
  }
  return { type: "pages", pages, totalPages: document.numPages };
}

async function run() {
  const loaded = await import(library);
  const api = form === "pdf" ? loaded : (loaded.default ?? loaded);
  const readers = { spreadsheet, word, pdf };
  return readers[form](api);
}

run().then(
  (answer) => parentPort.postMessage(answer),
  (error) => parentPort.postMessage({ type: "failed", name: String(error?.name ?? "Error"), message: String(error?.message ?? error).slice(0, 500) }),
);
`;
