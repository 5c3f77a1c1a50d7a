// Every row of docs/number-formats.md, formatted; and cells of real workbooks.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { table, uncalculated, workbook } from "../../fixtures/files/documents.ts";
import { extractText } from "../../src/extract/extract.ts";
import { formattedNumber, loadFormats } from "../../src/extract/parsing/cells.mjs";
import { temporaryDirectory } from "../storage/disks.ts";

const PAGE = new URL("../../docs/number-formats.md", import.meta.url);

async function sheetText(bytes: Buffer): Promise<string> {
  const path = join(temporaryDirectory(), "book.xlsx");
  writeFileSync(path, bytes);
  const extraction = await extractText(path, 10_000);
  return extraction.type === "text" ? extraction.text : extraction.reason;
}

function documented(): { format: string; value: number; shown: string }[] {
  const plain = (cell = "") => (cell === "(nothing)" ? "" : cell.replace(/^`|`$/g, "").replaceAll("\\|", "|"));
  return readFileSync(PAGE, "utf8")
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) => line.split("|").map((cell) => cell.trim()))
    .map(([, format, value, shown]) => ({ format: plain(format), value: Number(value), shown: plain(shown) }));
}

it("numbers and dates are displayed as the page on formats says", async () => {
  const formats = await loadFormats();
  const rows = documented();
  expect(rows.length).toBeGreaterThan(60);
  const shown = rows.map((row) => ({ ...row, shown: formattedNumber(row.format, row.value, formats).trim() }));
  expect(shown).toEqual(rows);
});

it("a workbook with Chinese dates and amounts is read as its sheet displays it", async () => {
  const day = new Date(2024, 0, 1);
  const bytes = await workbook([
    {
      name: "明细",
      cells: [
        { at: "A1", value: day, format: "yyyy年m月d日" },
        { at: "B1", value: 1234.5, format: "¥#,##0.00" },
        { at: "C1", value: 1234.5, format: "0.00元" },
        { at: "D1", value: 123, format: "[DBNum1]General" },
        { at: "E1", value: day, format: "aaaa" },
        { at: "F1", value: 202_411_300_001_234, format: "General" },
        { at: "G1", value: "名", format: '"姓名："@' },
      ],
    },
  ]);
  expect(await sheetText(bytes)).toBe(
    "# Sheet: 明细\n2024年1月1日\t¥1,234.50\t1234.50元\t一百二十三\t星期一\t202411300001234\t姓名：名\n",
  );
});

it("a formula that was never calculated is marked, not empty", async () => {
  expect(await sheetText(await uncalculated("SUM(A1:A2)"))).toContain("[not calculated: =SUM(A1:A2)]");
});

it("a format that cannot be read gives the plain number, and says so", async () => {
  expect(formattedNumber('xx"', 5, await loadFormats())).toBe('5 [in the format xx"]');
});

it("whatever the format and the number, there is a text", async () => {
  const formats = await loadFormats();
  const piece = fc.constantFrom(
    "0",
    "#",
    ",",
    ".",
    "%",
    "[DBNum1]",
    "[$-804]",
    "[$€-407]",
    "yyyy",
    "m",
    "d",
    "ggg",
    "e",
    '"x"',
    ";",
    "@",
    "General",
    "aaaa",
    "年",
    "[",
    "\\",
    "*",
  );
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 8 }),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      (pieces, value) => {
        expect(typeof formattedNumber(pieces.join(""), value, formats)).toBe("string");
      },
    ),
  );
});

it("a workbook of many cells is read up to its bound, and says how many rows it has", async () => {
  const rows = Array.from({ length: 3_000 }, (_, n) => Array.from({ length: 20 }, (_, c) => n * c));
  const text = await sheetText(await table("Many", rows));
  expect(text).toMatch(/\[cut: this sheet has 3000 rows in all, here are the first \d+;/);
});
