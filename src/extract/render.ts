// Renders extracted content as bounded text whose last line says what was cut. Pure.
import { countCodePoints, headOf, oneLine } from "../storage/text.ts";
import type { SheetContent } from "./worker-program.ts";

export interface Extracted {
  readonly text: string;
  readonly cut: boolean;
}

const READ_ON = "read the original for the rest";

function withTail(head: string, tail: string): Extracted {
  return { text: `${head.trimEnd()}\n${tail}\n`.toWellFormed(), cut: true };
}

export function boundedText(text: string, maxChars: number, name = "text"): Extracted {
  const head = headOf(text, maxChars);
  if (head.length === text.length) return { text: text.toWellFormed(), cut: false };
  return withTail(
    head,
    `[cut: this ${name} has ${countCodePoints(text)} characters in all, here are the first ${maxChars}; ${READ_ON}]`,
  );
}

/** One section per sheet, one line per row, tabs between cells. */
export function sheetsText(sheets: readonly SheetContent[], leftOut: number, maxChars: number): Extracted {
  const parts: string[] = [];
  let left = maxChars;
  let hidden = leftOut;
  for (const { name, rows, totalRows } of sheets) {
    const heading = `# Sheet: ${oneLine(name)}\n`;
    if (left <= heading.length) {
      hidden++;
      continue;
    }
    left -= countCodePoints(heading);
    const lines: string[] = [];
    for (const row of rows) {
      const line = `${row.map((cell) => oneLine(cell)).join("\t")}\n`;
      const length = countCodePoints(line);
      if (length > left) break;
      left -= length;
      lines.push(line);
    }
    parts.push(heading + lines.join(""));
    if (lines.length === totalRows) continue;
    parts.push(`[cut: this sheet has ${totalRows} rows in all, here are the first ${lines.length}; ${READ_ON}]\n`);
    left = 0;
  }
  const more = hidden === 0 ? "" : `[cut: ${hidden} more sheets; ${READ_ON}]\n`;
  const text = [parts.join("\n"), more].filter((part) => part !== "").join("\n");
  return { text: text.toWellFormed(), cut: text.includes(`; ${READ_ON}]\n`) && (left === 0 || hidden > 0) };
}

export function pagesText(pages: readonly string[], totalPages: number, maxChars: number): Extracted {
  const all = pages.map((page, index) => `# Page ${index + 1}\n${page.trim()}\n`).join("\n");
  const head = headOf(all, maxChars);
  if (head.length === all.length && pages.length === totalPages) return { text: all.toWellFormed(), cut: false };
  return withTail(
    head,
    `[cut: this document has ${totalPages} pages in all, here are the first ${countCodePoints(head)} characters; ${READ_ON}]`,
  );
}
