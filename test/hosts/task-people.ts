// What the tests of tasks in a terminal and in print mode share: a child that really works. It reads the text of an attached
// ledger, sums it by month with a program of its own and writes a new workbook; it makes a page with folders; and it works on a
// project, slowly until a file tells it to go on.
import { createRequire } from "node:module";
import { ledgerByMonth } from "../../fixtures/files/ledger.ts";

const require = createRequire(import.meta.url);
// The package loads it when a workbook is attached; it has no types of its own here.
const XLSX = require("@e965/xlsx") as {
  readFile(path: string, options: object): { SheetNames: string[]; Sheets: Record<string, Record<string, Cell>> };
};

interface Cell {
  readonly v: unknown;
  /** Its number format. */
  readonly z?: string;
}

/** The program that the child writes and runs: from the text beside the attachment to a new workbook. */
const SUM_BY_MONTH = `
const XlsxPopulate = require(${JSON.stringify(require.resolve("xlsx-populate"))});
const { readFileSync, readdirSync } = require("node:fs");
const folder = "attachments/" + readdirSync("attachments")[0] + "/";
const text = readFileSync(folder + readdirSync(folder).find((name) => name.endsWith(".xlsx.txt")), "utf8");
const sums = new Map();
for (const line of text.split("\\n")) {
  const [, month, amount, tax] = /^(\\d+年\\d+月)\\d+日\\t[^\\t]*\\t(-?¥[\\d,.]+)\\t(-?[\\d.]+)元$/.exec(line) || [];
  if (!month) continue;
  const cents = (shown) => Math.round(Number(shown.replace(/[¥,]/g, "")) * 100);
  const sum = sums.get(month) || [0, 0];
  sums.set(month, [sum[0] + cents(amount), sum[1] + cents(tax)]);
}
XlsxPopulate.fromBlankAsync().then((book) => {
  const sheet = book.sheet(0).name("汇总");
  ["月份", "金额", "税额"].forEach((head, at) => sheet.cell(1, at + 1).value(head));
  [...sums].forEach(([month, [amount, tax]], at) => {
    const [, year, number] = /(\\d+)年(\\d+)月/.exec(month);
    sheet.cell(at + 2, 1).value(new Date(Number(year), Number(number) - 1, 1)).style("numberFormat", "yyyy年m月");
    sheet.cell(at + 2, 2).value(amount / 100).style("numberFormat", "¥#,##0.00");
    sheet.cell(at + 2, 3).value(tax / 100).style("numberFormat", "0.00元");
    console.log(month + " " + amount + " " + tax);
  });
  return book.toFileAsync("output/汇总.xlsx");
});
`;

/** Where this file is in the working directory of a task on the project, it comes to its end. */
export const GO_ON = "go-on";

export const WORKING_CHILD = {
  source: `(request) => {
  if (!request.systemPrompt.startsWith("You carry out one task")) return "hello";
  const textOf = ({ content }) => typeof content === "string" ? content : content.map(({ text }) => text).join("\\n");
  // Earlier tasks are quoted before this one's heading.
  const task = request.messages.filter(({ role }) => role === "user").map(textOf).join("\\n").split(/^# Task$/m)[1];
  const results = request.messages.filter(({ role }) => role === "toolResult");
  const done = results.length;
  const call = (name, args) => [{ type: "toolCall", id: "c" + done, name, arguments: args }];
  if (task.includes("Sum it")) {
    if (done === 0) return call("read", { path: /; text: (.+?\\.txt)/.exec(task)[1] });
    if (done === 1) return call("write", { path: "work/sum.cjs", content: ${JSON.stringify(SUM_BY_MONTH)} });
    if (done === 2) return call("bash", { command: ${JSON.stringify(`"${process.execPath}" work/sum.cjs`)} });
    return "Sums in cents:\\n" + textOf(results[2]).replace(/^\\[id: \\w+\\]\\n/, "").trim();
  }
  if (task.includes("Make a page")) {
    const path = ["output/site/index.html", "output/site/css/style.css", "output/site/img/style.css"][done];
    return path ? call("write", { path, content: "content of " + path }) : "The page begins at output/site/index.html";
  }
  const base = (/lie in (.+?) below/.exec(task) || [])[1] || "";
  if (done === 0) return call("write", { path: "notes.txt", content: "fixed" });
  if (done === 1) return call("write", { path: base + "output/half.txt", content: "half" });
  if (done === 2) return call("bash", { command: "for n in $(seq 1200); do [ -e ${GO_ON} ] && break; sleep 0.1; done" });
  return "Fixed work/parser.ts.";
}`,
};

/** What the child's program prints about the ledger. */
export const SUMS = ledgerByMonth()
  .map(({ month, amount, tax }) => `${month} ${amount} ${tax}`)
  .join("\n");

/** Every cell of a workbook by its sheet and address: the value, and its format where it has one. */
export function cellsOf(path: string): Record<string, unknown> {
  const { SheetNames, Sheets } = XLSX.readFile(path, { cellNF: true });
  const cells = SheetNames.flatMap((name) =>
    Object.entries(Sheets[name] ?? {})
      .filter(([at]) => !at.startsWith("!"))
      .map(([at, { v, z = "General" }]) => [`${name}!${at}`, z === "General" ? v : [v, z]] as const),
  );
  return Object.fromEntries(cells);
}

/** Days since the end of 1899, as spreadsheets count them. */
function serial(year: number, month: number): number {
  return Date.UTC(year, month - 1, 1) / 86_400_000 + 25_569;
}

/** The workbook that the child makes of the ledger. */
export const SUMMARY_CELLS: Readonly<Record<string, unknown>> = {
  "汇总!A1": "月份",
  "汇总!B1": "金额",
  "汇总!C1": "税额",
  ...Object.fromEntries(
    ledgerByMonth().flatMap(({ month, amount, tax }, at) => {
      const [year = 0, number = 0] = month.split(/年|月/).map(Number);
      return [
        [`汇总!A${at + 2}`, [serial(year, number), "yyyy年m月"]],
        [`汇总!B${at + 2}`, [amount / 100, "¥#,##0.00"]],
        [`汇总!C${at + 2}`, [tax / 100, "0.00元"]],
      ];
    }),
  ),
};
