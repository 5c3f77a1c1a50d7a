// The text of an HTML page: a line per block, tabs between table cells. One pass over the tags: time is linear in the page's
// length, even for a hostile page. Pure.
import { oneLine } from "../storage/text.ts";

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

function decoded(text: string): string {
  return text.replace(/&(#x?[0-9a-f]+|\w+);/gi, (whole, name: string) => {
    if (!name.startsWith("#")) return ENTITIES[name.toLowerCase()] ?? whole;
    const code = name[1]?.toLowerCase() === "x" ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return Number.isInteger(code) && code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

type Piece =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "tag"; readonly name: string; readonly isEnd: boolean };

/** Elements without readable text, and the pattern that ends each; pages often omit </head>. */
const HIDDEN: Readonly<Record<string, string>> = {
  script: "</script\\s*>",
  style: "</style\\s*>",
  template: "</template\\s*>",
  head: "</head\\s*>|<body\\b",
};

const TAG = /^(\/?)([a-z][a-z0-9]*)/i;

function* piecesOf(html: string): Generator<Piece> {
  for (let at = 0; at < html.length; ) {
    const open = html.indexOf("<", at);
    if (open !== at) yield { type: "text", text: html.slice(at, open < 0 ? html.length : open) };
    if (open < 0) return;
    if (html.startsWith("<!--", open)) {
      const end = html.indexOf("-->", open + 4);
      at = end < 0 ? html.length : end + 3;
      continue;
    }
    const close = html.indexOf(">", open);
    if (close < 0) {
      yield { type: "text", text: html.slice(open) };
      return;
    }
    at = close + 1;
    const [, slash, given = ""] = TAG.exec(html.slice(open + 1, Math.min(close, open + 33))) ?? [];
    const name = given.toLowerCase();
    yield { type: "tag", name, isEnd: slash === "/" };
    const hidden = slash === "" && Object.hasOwn(HIDDEN, name) ? HIDDEN[name] : undefined;
    if (hidden === undefined) continue;
    const end = new RegExp(hidden, "gi");
    end.lastIndex = at;
    at = end.exec(html)?.index ?? html.length;
  }
}

/** What replaces a tag outside tables. */
function blockMark(name: string, isEnd: boolean): string {
  if (/^h[1-6]$/.test(name)) return isEnd ? "\n" : `\n\n${"#".repeat(Number(name[1]))} `;
  if (name === "li") return isEnd ? "\n" : "\n- ";
  if (["p", "div", "table"].includes(name)) return "\n";
  return (isEnd ? ["ul", "ol"] : ["br"]).includes(name) ? "\n" : "";
}

/** Collects text; within a table row, cell by cell. */
class Page {
  readonly #parts: string[] = [];
  #row: string[] | undefined;
  #cell: string[] | undefined;

  take(piece: Piece): void {
    if (piece.type === "text") this.#text(piece.text);
    else this.#tag(piece.name, piece.isEnd);
  }

  text(): string {
    this.#endRow();
    return this.#parts.join("");
  }

  #text(text: string): void {
    if (this.#row === undefined) this.#parts.push(text);
    else this.#cell?.push(text);
  }

  #tag(name: string, isEnd: boolean): void {
    // HTML lets pages omit the end tags of rows and cells.
    if (name === "tr" || name === "table") this.#endRow();
    if (name === "tr") {
      if (!isEnd) this.#row = [];
    } else if (this.#row === undefined) {
      this.#parts.push(blockMark(name, isEnd));
    } else if (name === "td" || name === "th") {
      this.#endCell();
      if (!isEnd) this.#cell = [];
    } else this.#cell?.push(" ");
  }

  #endCell(): void {
    if (this.#cell) this.#row?.push(oneLine(this.#cell.join("")));
    this.#cell = undefined;
  }

  #endRow(): void {
    this.#endCell();
    if (this.#row) this.#parts.push(`\n${this.#row.join("\t")}\n`);
    this.#row = undefined;
  }
}

export function htmlText(html: string): string {
  const page = new Page();
  for (const piece of piecesOf(html)) page.take(piece);
  const lines = decoded(page.text())
    .split("\n")
    .map((line) => line.replace(/[^\S\t]+/g, " ").replace(/^ +| +$/g, ""));
  return `${lines
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim()}\n`;
}
