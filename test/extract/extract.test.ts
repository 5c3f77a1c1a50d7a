import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pdf, table, wordDocument, workbook } from "../../fixtures/files/documents.ts";
import { type Extraction, extractText } from "../../src/extract/extract.ts";
import { htmlText } from "../../src/extract/parsing/html.mjs";
import { boundedText, sheetsText } from "../../src/extract/render.ts";
import { countCodePoints } from "../../src/storage/text.ts";
import { temporaryDirectory } from "../storage/disks.ts";

async function extracted(name: string, bytes: Buffer | string, maxChars = 30_000): Promise<Extraction> {
  const path = join(temporaryDirectory(), name);
  writeFileSync(path, bytes);
  return extractText(path, maxChars);
}

async function textOf(name: string, bytes: Buffer | string, maxChars?: number): Promise<string> {
  const extraction = await extracted(name, bytes, maxChars);
  if (extraction.type !== "text") throw new Error(extraction.reason);
  return extraction.text;
}

async function reasonOf(name: string, bytes: Buffer | string): Promise<string> {
  const extraction = await extracted(name, bytes);
  return extraction.type === "none" ? extraction.reason : `text: ${extraction.text}`;
}

describe("a spreadsheet", () => {
  it("is shown as the sheet displays it, one section a sheet", async () => {
    const bytes = await workbook([
      {
        name: "Sales",
        merged: ["A4:C4"],
        cells: [
          { at: "A1", value: "month" },
          { at: "B1", value: "amount" },
          { at: "C1", value: "share" },
          { at: "D1", value: "day" },
          { at: "A2", value: "January" },
          { at: "B2", value: 1234.5, format: "$#,##0.00" },
          { at: "C2", value: 0.256, format: "0.0%" },
          { at: "D2", value: new Date(2025, 0, 31), format: "yyyy-mm-dd" },
          { at: "A3", value: "line\nbreak\ttab" },
          { at: "B3", value: -5, format: "#,##0.00;(#,##0.00)" },
          { at: "C3", value: true },
          { at: "D3", value: 45_688.5, format: "d mmm yyyy h:mm" },
          { at: "A4", value: "a merged line" },
        ],
      },
      { name: "Second", cells: [{ at: "A1", value: 1_000_000, format: "#,##0" }] },
    ]);
    expect(await textOf("sales.xlsx", bytes)).toBe(
      [
        "# Sheet: Sales",
        "month\tamount\tshare\tday",
        "January\t$1,234.50\t25.6%\t2025-01-31",
        "line break tab\t(5.00)\tTRUE\t31 Jan 2025 12:00",
        "a merged line",
        "",
        "# Sheet: Second",
        "1,000,000",
        "",
      ].join("\n"),
    );
  });

  it("shows dates in formats with dots, slashes and times", async () => {
    const day = new Date(2025, 1, 3);
    const cells = ["dd.mm.yyyy", "[$-407]d.m.yy", "m/d/yy", "d-mmm-yy"].map((format, index) => ({
      at: `A${index + 1}`,
      value: day,
      format,
    }));
    expect(await textOf("dates.xlsx", await workbook([{ name: "D", cells }]))).toBe(
      "# Sheet: D\n03.02.2025\n3.2.25\n2/3/25\n3-Feb-25\n",
    );
  });

  it("says how many rows there are when it is cut", async () => {
    const rows = Array.from({ length: 500 }, (_, n) => [`row ${n + 1}`, n]);
    const text = await textOf("long.xlsx", await table("Long", rows), 1_000);
    expect(text.trimEnd().split("\n").at(-1)).toMatch(
      /^\[cut: this sheet has 500 rows in all, here are the first \d+; read the original/,
    );
    expect(countCodePoints(text)).toBeLessThan(1_200);
  });

  it("that is encrypted, damaged or empty gives a note with the reason", async () => {
    const bytes = await table("T", [["a", 1]]);
    expect(
      await reasonOf("locked.xlsx", await workbook([{ name: "S", cells: [{ at: "A1", value: 1 }] }], "secret")),
    ).toContain("protected by a password");
    expect(await reasonOf("cut.xlsx", bytes.subarray(0, 900))).toContain("may be damaged");
    expect(await reasonOf("empty.xlsx", "")).toBe("the file is empty");
  });
});

describe("a Word document", () => {
  it("keeps headings, paragraphs and tables", async () => {
    const bytes = await wordDocument("Report", "Costs & <more>", [
      ["a", "b"],
      ["1", "2"],
    ]);
    expect(await textOf("report.docx", bytes)).toBe("# Report\n\nCosts & <more>\n\na\tb\n\n1\t2\n");
  });

  it("that is damaged gives a note", async () => {
    expect(await reasonOf("bad.docx", "PK no zip at all")).toContain("may be damaged");
  });
});

describe("a PDF", () => {
  it("is read page by page", async () => {
    const text = await textOf("report.pdf", await pdf(["First page\nwith two lines", "Total 42"]));
    expect(text).toBe("# Page 1\nFirst page\nwith two lines\n\n# Page 2\nTotal 42\n");
  });

  it("says how many pages there are when it is cut", async () => {
    const pages = Array.from({ length: 30 }, (_, n) => `Page ${n} ${"words ".repeat(40)}`);
    expect(await textOf("long.pdf", await pdf(pages), 500)).toMatch(
      /\[cut: this document has 30 pages in all, .*read the original for the rest\]\n$/,
    );
  });

  it("that is encrypted, damaged or holds no text gives a note", async () => {
    expect(await reasonOf("locked.pdf", await pdf(["secret"], "word"))).toContain("protected by a password");
    expect(await reasonOf("bad.pdf", "%PDF-1.7 nonsense")).toContain("may be damaged");
    expect(await reasonOf("blank.pdf", await pdf([""]))).toContain("hold no text");
  });
});

describe("plain files", () => {
  it("are read directly, in the usual encodings", async () => {
    expect(await textOf("a.md", "# Ä\n")).toBe("# Ä\n");
    expect(await textOf("a.csv", Buffer.from([0x61, 0x3b, 0xe4]))).toMatch(/^\[encoding guessed: .*\]\na;ä$/);
    expect(await textOf("a.txt", Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from("hé", "utf16le")]))).toBe("hé");
    expect(await textOf("a.json", '{"a":1}')).toBe('{"a":1}');
    expect(
      await textOf("a.html", "<style>x</style><p>Hi &amp; <b>you</b></p><table><tr><td>1</td><th>2</th></tr></table>"),
    ).toBe("Hi & you\n\n1\t2\n");
  });

  it("of web pages without end tags, and of hostile ones, takes no longer than they are", async () => {
    expect(await htmlText("<head><title>t</title><body><table><tr><td>1<td>2<tr><td>3</table>after")).toBe(
      "1\t2\n\n3\n\nafter\n",
    );
    const before = performance.now();
    for (const part of ["<tr>", "<tr><td>x", "<td", "<", "<!--", "<script>", "&", "</head "]) {
      await htmlText(part.repeat(50_000));
    }
    expect(performance.now() - before).toBeLessThan(5_000);
  });

  it("of an unknown kind or with other bytes than their name says give a note", async () => {
    expect(await reasonOf("a.bin", "x")).toContain("not read here");
    expect(await reasonOf("a.csv", Buffer.from([1, 0, 2]))).toContain("no text");
  });
});

describe("without a library", () => {
  it("the note names it", async () => {
    const folder = temporaryDirectory();
    const from = new URL("../../src/extract/parsing/", import.meta.url);
    cpSync(from, join(folder, "parsing"), { recursive: true });
    writeFileSync(join(folder, "a.xlsx"), await table("T", [["a"]]));
    const program = pathToFileURL(join(folder, "parsing", "program.mjs"));
    const extraction = await extractText(join(folder, "a.xlsx"), 100, { program });
    expect(extraction).toEqual({ type: "none", reason: expect.stringContaining("@e965/xlsx is not installed") });
  });

  it("a reader that takes too long is stopped", async () => {
    const path = join(temporaryDirectory(), "a.xlsx");
    writeFileSync(path, await table("T", [["a"]]));
    const extraction = await extractText(path, 100, { limitMs: 1 });
    expect(extraction).toEqual({ type: "none", reason: expect.stringContaining("took longer") });
  });
});

describe("rendering", () => {
  it("keeps every text within its bound and a note, and leaves short ones alone", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), fc.integer({ min: 1, max: 200 }), (text, max) => {
        const extracted = boundedText(text, max);
        expect(extracted.text.isWellFormed()).toBe(true);
        expect(countCodePoints(extracted.text)).toBeLessThanOrEqual(max + 200);
        expect(extracted.cut).toBe(countCodePoints(text) > max);
        if (!extracted.cut) expect(extracted.text).toBe(text.toWellFormed());
      }),
    );
  });

  it("never throws on a page", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.constantFrom(
            "<p>",
            "</p>",
            "<tr>",
            "<td>",
            "x",
            "&#",
            "&amp;",
            "<!--",
            "-->",
            "<script>",
            "&#x110000;",
            "<",
          ),
        ),
        async (parts) => {
          expect(typeof (await htmlText(parts.join("")))).toBe("string");
        },
      ),
    );
  });

  it("says for every table whether rows are missing", () => {
    const rows = fc.array(fc.array(fc.string({ maxLength: 8 }), { maxLength: 4 }), { maxLength: 30 });
    fc.assert(
      fc.property(fc.array(rows, { maxLength: 4 }), fc.integer({ min: 20, max: 300 }), (tables, max) => {
        const sheets = tables.map((table, n) => ({ name: `S${n}`, rows: table, totalRows: table.length }));
        const { text, cut } = sheetsText(sheets, 0, max);
        expect(text.includes("[cut: ")).toBe(cut);
        const shown = text
          .split("\n")
          .filter((line) => line !== "" && !line.startsWith("[cut: "))
          .join("\n");
        expect(countCodePoints(shown)).toBeLessThanOrEqual(max);
      }),
    );
  });
});
