// Plain files in the encodings of the world: what a file says of itself is believed, and a guess is called one.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { encoded } from "../../fixtures/files/encodings.ts";
import { extractText } from "../../src/extract/extract.ts";
import { temporaryDirectory } from "../storage/disks.ts";

async function textOf(name: string, bytes: Buffer, maxChars = 10_000): Promise<string> {
  const path = join(temporaryDirectory(), name);
  writeFileSync(path, bytes);
  const extraction = await extractText(path, maxChars);
  return extraction.type === "text" ? extraction.text : `none: ${extraction.reason}`;
}

const GUESS = /^\[encoding guessed: ([^;]+); where words look wrong, read the original\]\n/;

const SAMPLES: readonly (readonly [encoding: string, text: string])[] = [
  ["gb18030", "月份,金额,部门\n一月,1200,销售部\n二月,980,市场部\n三月,1100,研发部门的差旅费用\n"],
  ["big5", "月份,金額,部門\n一月,1200,銷售部\n二月,980,市場部\n三月,1100,研發部門的差旅費用\n"],
  ["shift_jis", "月,金額,部署\n一月,1200,営業部\n二月,980,マーケティング部\nさくら,かな,カタカナ\n"],
  ["euc-jp", "月,金額,部署\n一月,1200,営業部\n二月,980,マーケティング部\nさくら,かな,カタカナ\n"],
  ["euc-kr", "월,금액,부서\n일월,1200,영업부\n이월,980,마케팅부\n삼월,1100,연구개발부\n"],
  ["windows-1250", "Miesiąc;Kwota\nStyczeń;1200\nLuty;980\nWrzesień;zażółć gęślą jaźń\n"],
  ["windows-1251", "Месяц,Сумма,Отдел\nЯнварь,1200,Продажи\nФевраль,980,Маркетинг\n"],
  ["windows-1252", "Monat;Umsatz;Straße\nJanuar;1200;Müller\nMärz;980;Größe\nÜbertrag;10;für\n"],
  ["windows-1253", "Μήνας;Ποσό\nΙανουάριος;1200\nΦεβρουάριος;980\n"],
  ["windows-1256", "الشهر,المبلغ\nيناير,1200\nفبراير,980\n"],
  ["koi8-r", "Месяц,Сумма,Отдел\nЯнварь,1200,Продажи\nФевраль,980,Маркетинг\n"],
  ["utf-16le", "月份,金额\n一月,1200\n"],
  ["utf-16be", "Month,Amount\nJanuary,1200\n"],
];

it.each(SAMPLES)("%s is read, and called a guess", async (encoding, text) => {
  const shown = await textOf("a.csv", encoded(text, encoding));
  expect(GUESS.exec(shown)?.[1]?.toLowerCase()).toBe(encoding);
  expect(shown.replace(GUESS, "")).toBe(text);
});

it("the first words that are not ASCII may stand far from the beginning", async () => {
  const text = `${"plain,1\n".repeat(20_000)}月份,金额,部门\n三月,1100,研发部门的差旅费用\n`;
  expect((await textOf("a.csv", encoded(text, "gb18030"), 1_000_000)).replace(GUESS, "")).toBe(text);
});

it("a page and an XML file that name their encoding are believed", async () => {
  const page = '<html><head><meta charset="gbk"><title>t</title></head><body><p>税率</p></body></html>';
  expect(await textOf("a.html", encoded(page, "gb18030"))).toBe("税率\n");
  const xml = '<?xml version="1.0" encoding="Shift_JIS"?>\n<a>営業部</a>\n';
  expect(await textOf("a.xml", encoded(xml, "shift_jis"))).toBe(xml);
});

it("bytes that are no text are called so", async () => {
  const bytes = Buffer.from(Array.from({ length: 4_000 }, (_, n) => (n * n * 31 + n * 7) & 0xff));
  expect(await textOf("a.txt", bytes)).toMatch(/^none: its bytes are no text/);
});

it("a text is cut at the end of a line, and a table at the end of a row, which it counts", async () => {
  const lines = Buffer.from("one two three\n".repeat(50));
  expect(await textOf("a.txt", lines, 100)).toBe(
    `${"one two three\n".repeat(7)}[cut: this text has 700 characters in all, here are the first 98; read the original for the rest]\n`,
  );
  const rows = Buffer.from('name,"two\nlines"\n'.repeat(50));
  expect(await textOf("a.csv", rows, 100)).toBe(
    `${'name,"two\nlines"\n'.repeat(5)}[cut: this table has 50 rows in all, here are the first 5; read the original for the rest]\n`,
  );
});

it.each([
  ["a stray quotation mark in a cell", 'size,5" pipe,x\n', "a.csv"],
  ["a quotation mark that never closes", '"open,1\n', "a.csv"],
  ["quotation marks in tab-separated cells", 'a\t"b\n', "a.tsv"],
  ["doubled quotation marks", '"say ""hi""",2\n', "a.csv"],
])("%s does not change how many rows there are", async (_name, row, name) => {
  const lines = Array.from({ length: 301 }, (_, n) => (n === 10 ? row : `${n},plain,text\n`)).join("");
  expect(await textOf(name, Buffer.from(lines), 1_000)).toMatch(/this table has 301 rows in all/);
});
