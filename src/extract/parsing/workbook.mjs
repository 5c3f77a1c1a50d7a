// @ts-check
// The sheets of a workbook, row by row, each cell as the sheet displays it.
import { assertUnpackable } from "./archives.mjs";
import { cellText, loadFormats } from "./cells.mjs";

/** @typedef {import("../answers.ts").WorkerAnswer} WorkerAnswer */
/** @typedef {import("@e965/xlsx").WorkSheet} WorkSheet */

const ZIP = [0x50, 0x4b, 3, 4];
const OLE = [0xd0, 0xcf, 0x11, 0xe0];
/** Merged ranges of more cells are a sheet's background, not a table's heading. */
const MERGED_CELLS_MAX = 100_000;

/** The library takes anything for a table of text. @param {Buffer} bytes */
function isWorkbook(bytes) {
  return [ZIP, OLE].some((start) => start.every((byte, at) => bytes[at] === byte));
}

/** The cells that a merged range hides, all but its first. @param {WorkSheet} sheet */
function coveredCells(sheet) {
  const covered = new Set();
  for (const { s, e } of sheet["!merges"] ?? []) {
    if ((e.r - s.r + 1) * (e.c - s.c + 1) > MERGED_CELLS_MAX) continue;
    for (let r = s.r; r <= e.r; r++) for (let c = s.c; c <= e.c; c++) covered.add(`${r}:${c}`);
    covered.delete(`${s.r}:${s.c}`);
  }
  return covered;
}

/**
 * @param {Buffer} bytes
 * @param {number} maxChars
 * @returns {Promise<WorkerAnswer>}
 */
export async function workbook(bytes, maxChars) {
  const { default: XLSX } = await import("@e965/xlsx");
  const formats = await loadFormats();
  if (!isWorkbook(bytes)) throw new Error("it is no workbook");
  assertUnpackable(bytes);
  const book = XLSX.read(bytes, { dense: true, cellHTML: false, cellText: false, cellNF: true, sheetStubs: true });
  const date1904 = Boolean(book.Workbook?.WBProps?.date1904);
  const sheets = [];
  let chars = 0;
  let leftOut = 0;
  for (const name of book.SheetNames) {
    if (chars >= maxChars) {
      leftOut++;
      continue;
    }
    const sheet = book.Sheets[name];
    const data = sheet?.["!data"] ?? [];
    const covered = sheet ? coveredCells(sheet) : new Set();
    const rows = [];
    for (let r = 0; r < data.length && chars < maxChars; r++) {
      const row = Array.from(data[r] ?? [], (cell, c) =>
        covered.has(`${r}:${c}`) ? "" : cellText(cell, { ...formats, date1904 }),
      );
      while (row.at(-1) === "") row.pop();
      for (const text of row) chars += text.length + 1;
      chars++;
      rows.push(row);
    }
    sheets.push({ name, rows, totalRows: data.length });
  }
  return { type: "sheets", sheets, leftOut };
}
