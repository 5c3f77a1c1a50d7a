// Names of a task's files, and what they say. Pure but for the random names.
import { randomBytes } from "node:crypto";
import { extensionOf } from "../../extract/forms.ts";
import { headOf } from "../../storage/text.ts";

/** Longest name of a file in a working directory, in characters; file systems take 255 bytes. */
const NAME_MAX_CHARS = 60;

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  csv: "text/csv",
  doc: "application/msword",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  gif: "image/gif",
  htm: "text/html",
  html: "text/html",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  json: "application/json",
  md: "text/markdown",
  ods: "application/vnd.oasis.opendocument.spreadsheet",
  pdf: "application/pdf",
  png: "image/png",
  pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  svg: "image/svg+xml",
  tsv: "text/tab-separated-values",
  txt: "text/plain",
  xls: "application/vnd.ms-excel",
  xlsm: "application/vnd.ms-excel.sheet.macroEnabled.12",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  zip: "application/zip",
};

export function contentTypeOf(name: string): string {
  return CONTENT_TYPES[extensionOf(name)] ?? "application/octet-stream";
}

export function kindOf(name: string): "word" | "pdf" | "other" {
  const extension = extensionOf(name);
  if (extension === "docx" || extension === "doc") return "word";
  return extension === "pdf" ? "pdf" : "other";
}

export function isMarkdown(name: string): boolean {
  return ["md", "markdown"].includes(extensionOf(name));
}

export function isTable(name: string): boolean {
  return ["csv", "tsv"].includes(extensionOf(name));
}

function dotted(extension: string): string {
  return extension === "" ? "" : `.${extension}`;
}

/** A name without its extension. */
export function baseName(name: string): string {
  return name.slice(0, name.length - dotted(extensionOf(name)).length);
}

/** A random name for stored bytes, with the file's own extension. */
export function storedName(name: string): string {
  return `${randomBytes(8).toString("hex")}${dotted(extensionOf(name))}`;
}

/** A name that every file system and shell takes, recognisable and with the same extension. */
export function workName(name: string): string {
  const plain = name
    .normalize("NFC")
    .toWellFormed()
    .replace(/[\p{Cc}/\\:*?"<>|`$\ufffd]/gu, "_")
    .trim();
  const base = baseName(plain);
  return `${headOf(base, NAME_MAX_CHARS).replace(/^\.+/, "_") || "file"}${plain.slice(base.length)}`;
}
