// Documents that are meant to exhaust their reader, or are too much for it: a reason within a bound of time and memory.
import { closeSync, ftruncateSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { unzipSync } from "fflate";
import { expect, it } from "vitest";
import { type Member, zip } from "../../fixtures/files/bombs.ts";
import { pdf, table, wordDocument } from "../../fixtures/files/documents.ts";
import { extractText } from "../../src/extract/extract.ts";
import { temporaryDirectory } from "../storage/disks.ts";

const GIB = 1 << 30;

async function reasonOf(name: string, bytes: Buffer, limitMs?: number): Promise<{ reason: string; grown: number }> {
  const path = join(temporaryDirectory(), name);
  writeFileSync(path, bytes);
  const before = process.memoryUsage.rss();
  let most = before;
  const look = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss());
  }, 20);
  const extraction = await extractText(path, 10_000, { limitMs });
  clearInterval(look);
  return { reason: extraction.type === "none" ? extraction.reason : "text", grown: most - before };
}

/** The file, with 3 GiB of blanks behind the text of one of its members. */
function inflated(document: Buffer, member: string, said: Pick<Member, "saidBytes"> = {}): Buffer {
  const members = Object.entries(unzipSync(document)).map(([name, bytes]): Member => {
    const text = Buffer.from(bytes).toString("utf8");
    return name === member ? { name, text, blankMiB: 3 * 1_024, ...said } : { name, text };
  });
  expect(members.some(({ blankMiB }) => blankMiB)).toBe(true);
  return zip(members);
}

it("a document that says it unpacks to gigabytes is refused before it is unpacked", async () => {
  const word = inflated(await wordDocument("T", "x", [["a"]]), "word/document.xml");
  const book = inflated(await table("T", [["a", 1]]), "xl/worksheets/sheet1.xml");
  for (const [name, bytes] of [
    ["a.docx", word],
    ["a.xlsx", book],
  ] as const) {
    const { reason, grown } = await reasonOf(name, bytes);
    expect(reason).toContain("it unpacks to 3221 MB, which is too large");
    expect(grown).toBeLessThan(GIB / 2);
  }
});

it("a workbook that says it is small and is not is stopped at a bound of memory or time", async () => {
  const bytes = inflated(await table("T", [["a", 1]]), "xl/worksheets/sheet1.xml", { saidBytes: 1_000 });
  const { reason, grown } = await reasonOf("a.xlsx", bytes, 4_000);
  expect(reason).toMatch(/takes too much memory|took longer than 4 s/);
  expect(grown).toBeLessThan(1.6 * GIB);
});

it("a sparse file of two gigabytes is refused unread", async () => {
  const path = join(temporaryDirectory(), "sparse.xlsx");
  const file = openSync(path, "w");
  ftruncateSync(file, 2 * GIB);
  closeSync(file);
  const extraction = await extractText(path, 100);
  expect(extraction).toEqual({ type: "none", reason: "the file is too large to be read here; use your tools" });
});

it("a PDF with a password says so", async () => {
  expect((await reasonOf("locked.pdf", await pdf(["secret"], "word"))).reason).toContain("protected by a password");
});

it("a workbook of a million cells is read to where its text is cut, or says why not, with its session running on", async () => {
  const columns = Array.from({ length: 100 }, (_, at) => columnName(at));
  const row = (n: number) =>
    `<row r="${n}">${columns.map((name) => `<c r="${name}${n}"><v>${n}</v></c>`).join("")}</row>`;
  const cells = Array.from({ length: 10_000 }, (_, at) => row(at + 1)).join("");
  const members = Object.entries(unzipSync(await table("T", [["a", 1]]))).map(([name, bytes]): Member => {
    const text = Buffer.from(bytes).toString("utf8");
    const isSheet = name === "xl/worksheets/sheet1.xml";
    return {
      name,
      text: isSheet ? text.replace(/<sheetData>.*<\/sheetData>/s, `<sheetData>${cells}</sheetData>`) : text,
    };
  });
  const path = join(temporaryDirectory(), "million.xlsx");
  writeFileSync(path, zip(members));
  let ticks = 0;
  const timer = setInterval(() => ticks++, 20);
  const extraction = await extractText(path, 10_000);
  clearInterval(timer);
  if (extraction.type === "none") expect(extraction.reason).toMatch(/too much memory|took longer/);
  else {
    expect(extraction.text).toContain("\t7\t7\t7");
    expect(extraction.text.length).toBeLessThan(12_000);
  }
  expect(ticks).toBeGreaterThan(10);
});

/** `A` to `Z`, then `AA`. */
function columnName(at: number): string {
  const letter = String.fromCharCode(65 + (at % 26));
  return at < 26 ? letter : `${columnName(Math.floor(at / 26) - 1)}${letter}`;
}
