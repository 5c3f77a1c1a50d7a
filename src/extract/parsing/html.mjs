// @ts-check
// The text of an HTML page: a line per block, tabs between table cells. One pass, which takes time in proportion to the page.

/** Elements without readable text. */
const HIDDEN = ["script", "style", "template", "head", "noscript"];
/** Elements whose beginning and end are a line's end. */
const BLOCKS = ["p", "div", "table", "section", "article", "header", "footer", "main", "blockquote", "pre", "dt", "dd"];

/** @param {string} name @param {boolean} isEnd */
function blockMark(name, isEnd) {
  if (/^h[1-6]$/.test(name)) return isEnd ? "\n" : `\n\n${"#".repeat(Number(name[1]))} `;
  if (name === "li") return isEnd ? "\n" : "\n- ";
  if (BLOCKS.includes(name)) return "\n";
  return (isEnd ? ["ul", "ol"] : ["br"]).includes(name) ? "\n" : "";
}

/** @param {string} text */
const oneLine = (text) => text.replace(/\s+/g, " ").trim();

/** Collects text; within a table row, cell by cell. */
class Page {
  /** @type {string[]} */
  #parts = [];
  /** @type {string[] | undefined} */
  #row;
  /** @type {string[] | undefined} */
  #cell;
  #hidden = 0;

  /** @param {string} name */
  onopentagname(name) {
    if (HIDDEN.includes(name)) this.#hidden++;
    // The parser does not know that a page may leave out the end of its head.
    if (name === "body") this.#hidden = 0;
    this.#tag(name, false);
  }

  /** @param {string} name */
  onclosetag(name) {
    if (HIDDEN.includes(name) && this.#hidden > 0) this.#hidden--;
    this.#tag(name, true);
  }

  /** @param {string} text */
  ontext(text) {
    if (this.#hidden > 0) return;
    if (this.#row === undefined) this.#parts.push(text);
    else this.#cell?.push(text);
  }

  text() {
    this.#endRow();
    const lines = this.#parts
      .join("")
      .split("\n")
      .map((line) => line.replace(/[^\S\t]+/g, " ").replace(/^ +| +$/g, ""));
    return `${lines
      .join("\n")
      .replace(/\n{3,}/g, "\n\n")
      .trim()}\n`;
  }

  /** @param {string} name @param {boolean} isEnd */
  #tag(name, isEnd) {
    if (name === "tr" || name === "table") this.#endRow();
    if (name === "tr") {
      if (!isEnd) this.#row = [];
    } else if (this.#row === undefined) {
      this.#parts.push(blockMark(name, isEnd));
    } else if (name === "td" || name === "th") {
      this.#endCell();
      if (!isEnd) this.#cell = [];
    } else this.#cell?.push(blockMark(name, isEnd) === "" ? "" : " ");
  }

  #endCell() {
    if (this.#cell) this.#row?.push(oneLine(this.#cell.join("")));
    this.#cell = undefined;
  }

  #endRow() {
    this.#endCell();
    if (this.#row) this.#parts.push(`\n${this.#row.join("\t")}\n`);
    this.#row = undefined;
  }
}

/** @param {string} html */
export async function htmlText(html) {
  const { Parser } = await import("htmlparser2");
  const page = new Page();
  new Parser({
    onopentagname: (name) => page.onopentagname(name),
    onclosetag: (name) => page.onclosetag(name),
    ontext: (text) => page.ontext(text),
  }).end(html);
  return page.text();
}
