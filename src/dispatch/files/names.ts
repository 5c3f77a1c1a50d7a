// Names and kinds of a task's files, by what their names say. Pure.
import { randomBytes } from "node:crypto";
import { headOf } from "../../storage/text.ts";

/** Longest name of a file in a working directory, in characters; file systems take 255 bytes. */
const NAME_MAX_CHARS = 60;
const EXTENSION = /\.([a-z0-9]{1,16})$/;

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

export type FileForm = "text" | "html" | "spreadsheet" | "word" | "pdf" | "other";

const FORMS: Readonly<Record<string, FileForm>> = {
  csv: "text",
  tsv: "text",
  txt: "text",
  md: "text",
  markdown: "text",
  json: "text",
  log: "text",
  xml: "text",
  yaml: "text",
  yml: "text",
  html: "html",
  htm: "html",
  xlsx: "spreadsheet",
  xlsm: "spreadsheet",
  xls: "spreadsheet",
  ods: "spreadsheet",
  docx: "word",
  pdf: "pdf",
};

const FORM_NAMES: Readonly<Record<string, string>> = {
  spreadsheet: "spreadsheet",
  word: "Word document",
  pdf: "PDF",
  html: "web page",
};

/** Lower-cased, without the dot; empty when there is none. */
export function extensionOf(name: string): string {
  return EXTENSION.exec(name.toLowerCase())?.[1] ?? "";
}

/** A name without its extension. */
export function baseName(name: string): string {
  return name.slice(0, name.length - (EXTENSION.exec(name.toLowerCase())?.[0].length ?? 0));
}

export function formOf(name: string): FileForm {
  return FORMS[extensionOf(name)] ?? "other";
}

/** How a person would call the kind of a file. */
export function formName(name: string): string {
  return FORM_NAMES[formOf(name)] ?? (extensionOf(name).toUpperCase() || "file");
}

export function isMarkdown(name: string): boolean {
  return ["md", "markdown"].includes(extensionOf(name));
}

export function isTable(name: string): boolean {
  return ["csv", "tsv"].includes(extensionOf(name));
}

export function isSpreadsheet(name: string): boolean {
  return formOf(name) === "spreadsheet";
}

export function contentTypeOf(name: string): string {
  return CONTENT_TYPES[extensionOf(name)] ?? "application/octet-stream";
}

export function kindOf(name: string): "word" | "pdf" | "other" {
  const extension = extensionOf(name);
  if (extension === "docx" || extension === "doc") return "word";
  return extension === "pdf" ? "pdf" : "other";
}

const ID_BYTES = 8;

/** An id for a row: random, so that it says nothing and cannot be guessed. */
export function newId(): string {
  return randomBytes(ID_BYTES).toString("hex");
}

/** A name for stored bytes: random, with the file's own extension. */
export function storedName(name: string): string {
  const extension = extensionOf(name);
  return `${randomBytes(ID_BYTES).toString("hex")}${extension === "" ? "" : `.${extension}`}`;
}

/** A name that every file system and every shell takes, still recognisable and with its extension. */
export function workName(name: string): string {
  const plain = name
    .normalize("NFC")
    .toWellFormed()
    .replace(/[\p{Cc}/\\:*?"<>|`$\ufffd]/gu, "_")
    .trim();
  const extension = EXTENSION.exec(plain.toLowerCase())?.[0] ?? "";
  const base = headOf(plain.slice(0, plain.length - extension.length), NAME_MAX_CHARS).replace(/^\.+/, "_");
  return `${base || "file"}${plain.slice(plain.length - extension.length)}`;
}
