// @ts-check
// Plain files and web pages, whatever encoding they are in: as the file says, or as a detector guesses.
import { htmlText } from "./html.mjs";

/** @typedef {import("../answers.ts").WorkerAnswer} WorkerAnswer */
/** @typedef {{ readonly text: string, readonly guess?: string }} Decoded */

/** What the detector may answer, and Node's decoder's name for it. */
const ENCODINGS = /** @type {Readonly<Record<string, string>>} */ ({
  "utf-8": "utf-8",
  "utf-16-le": "utf-16le",
  "utf-16-be": "utf-16be",
  gb18030: "gb18030",
  big5: "big5",
  cp932: "shift_jis",
  "euc-jp": "euc-jp",
  cp949: "euc-kr",
  "koi8-r": "koi8-r",
  ...Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`windows-125${n}`, `windows-125${n}`])),
});

const MARKS = [
  { bytes: [0xef, 0xbb, 0xbf], encoding: "utf-8" },
  { bytes: [0xff, 0xfe], encoding: "utf-16le" },
  { bytes: [0xfe, 0xff], encoding: "utf-16be" },
];

/** The detector is shown so many bytes, from the line of the first that is not ASCII, or a little before it. */
const SHOWN_BYTES = 65_536;
const BEFORE_BYTES = 1_024;
/** A text has no more of characters that no text holds: a share of all. */
const ODD_SHARE_MAX = 0.01;

/** @param {Buffer} bytes @returns {Decoded | undefined} */
function bySaying(bytes, html = false) {
  const mark = MARKS.find((each) => each.bytes.every((byte, at) => bytes[at] === byte));
  if (mark) return { text: new TextDecoder(mark.encoding).decode(bytes) };
  const start = bytes.subarray(0, 4_096).toString("latin1");
  const said = html
    ? /<meta[^>]+charset\s*=\s*["']?([\w-]+)/i.exec(start)
    : /^<\?xml[^>]+encoding=["']([\w-]+)/.exec(start);
  for (const encoding of [said?.[1], "utf-8"]) {
    try {
      if (encoding) return { text: new TextDecoder(encoding, { fatal: true }).decode(bytes) };
    } catch {
      // It is not what it says, or not in an encoding that Node knows.
    }
  }
  return undefined;
}

/** @param {string} text */
function isReadable(text) {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  const odd = text.match(/[\u0000-\u0008\u000e-\u001a\u001c-\u001f\u007f\ufffd\ufffe\uffff]/g)?.length ?? 0;
  return odd <= ODD_SHARE_MAX * text.length;
}

/** Undefined for bytes that are no text. @param {Buffer} bytes @param {boolean} [html] @returns {Promise<Decoded | undefined>} */
export async function decoded(bytes, html) {
  const said = bySaying(bytes, html);
  if (said) return isReadable(said.text) ? said : byGuess(bytes);
  return byGuess(bytes);
}

/** @param {Buffer} bytes @returns {Promise<Decoded | undefined>} */
async function byGuess(bytes) {
  const { detect } = await import("jschardet");
  const first = bytes.findIndex((byte) => byte === 0 || byte >= 0x80);
  const start = Math.max(bytes.lastIndexOf("\n", first) + 1, first - BEFORE_BYTES);
  const shown = bytes.subarray(start, start + SHOWN_BYTES);
  const { encoding } = detect(shown, { detectEncodings: Object.keys(ENCODINGS), minimumThreshold: 0 });
  const name = ENCODINGS[encoding?.toLowerCase() ?? ""];
  if (name === undefined) return undefined;
  const text = new TextDecoder(name).decode(bytes);
  return isReadable(text) ? { text, guess: name.toUpperCase().replace("WINDOWS", "Windows") } : undefined;
}

/** @param {Buffer} bytes @returns {Promise<WorkerAnswer>} */
export async function plainDocument(bytes) {
  const found = await decoded(bytes);
  return found ? { type: "text", ...found } : { type: "binary" };
}

/** @param {Buffer} bytes @returns {Promise<WorkerAnswer>} */
export async function htmlDocument(bytes) {
  const found = await decoded(bytes, true);
  return found ? { type: "text", ...found, text: await htmlText(found.text) } : { type: "binary" };
}
