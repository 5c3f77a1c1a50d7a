// @ts-check
// Word documents, by way of HTML, and the pages of a PDF.
import { assertUnpackable } from "./archives.mjs";
import { htmlText } from "./html.mjs";

/** @typedef {import("../answers.ts").WorkerAnswer} WorkerAnswer */

/** @param {Buffer} bytes @returns {Promise<WorkerAnswer>} */
export async function wordDocument(bytes) {
  const { default: mammoth } = await import("mammoth");
  assertUnpackable(bytes);
  const convertImage = mammoth.images.imgElement(async () => ({ src: "" }));
  const { value } = await mammoth.convertToHtml({ buffer: bytes }, { convertImage });
  return { type: "text", text: await htmlText(value) };
}

/**
 * @param {Buffer} bytes
 * @param {number} maxChars
 * @returns {Promise<WorkerAnswer>}
 */
export async function pdfDocument(bytes, maxChars) {
  const { getDocumentProxy } = await import("unpdf");
  const options = { verbosity: 0, isEvalSupported: false };
  const document = await getDocumentProxy(new Uint8Array(bytes), options);
  const pages = [];
  let chars = 0;
  for (let n = 1; n <= document.numPages && chars < maxChars; n++) {
    const { items } = await (await document.getPage(n)).getTextContent();
    const text = items
      .map((/** @type {{ str?: string, hasEOL?: boolean }} */ item) => `${item.str ?? ""}${item.hasEOL ? "\n" : ""}`)
      .join("");
    chars += text.length;
    pages.push(text);
  }
  return { type: "pages", pages, totalPages: document.numPages };
}
