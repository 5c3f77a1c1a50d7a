// Names of a task's files, and what they say. Pure but for the random names.
import { randomBytes } from "node:crypto";
import { extensionOf } from "../../extract/forms.ts";
import { headOf } from "../../storage/text.ts";

/** Longest name of a file in a working directory, in characters; file systems take 255 bytes. */
const NAME_MAX_CHARS = 60;

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  "7z": "application/x-7z-compressed",
  aac: "audio/aac",
  avi: "video/x-msvideo",
  avif: "image/avif",
  bmp: "image/bmp",
  bz2: "application/x-bzip2",
  c: "text/x-c",
  cjs: "text/javascript",
  cpp: "text/x-c",
  css: "text/css",
  csv: "text/csv",
  doc: "application/msword",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  epub: "application/epub+zip",
  flac: "audio/flac",
  gif: "image/gif",
  go: "text/x-go",
  gz: "application/gzip",
  htm: "text/html",
  html: "text/html",
  ico: "image/vnd.microsoft.icon",
  ics: "text/calendar",
  java: "text/x-java",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  js: "text/javascript",
  json: "application/json",
  jsonl: "application/jsonl",
  log: "text/plain",
  m4a: "audio/mp4",
  markdown: "text/markdown",
  md: "text/markdown",
  mjs: "text/javascript",
  mov: "video/quicktime",
  mp3: "audio/mpeg",
  mp4: "video/mp4",
  odp: "application/vnd.oasis.opendocument.presentation",
  ods: "application/vnd.oasis.opendocument.spreadsheet",
  odt: "application/vnd.oasis.opendocument.text",
  ogg: "audio/ogg",
  otf: "font/otf",
  parquet: "application/vnd.apache.parquet",
  pdf: "application/pdf",
  png: "image/png",
  ppt: "application/vnd.ms-powerpoint",
  pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  py: "text/x-python",
  rs: "text/x-rust",
  rtf: "application/rtf",
  sh: "application/x-sh",
  sql: "application/sql",
  svg: "image/svg+xml",
  tar: "application/x-tar",
  tif: "image/tiff",
  tiff: "image/tiff",
  toml: "application/toml",
  ts: "text/x-typescript",
  tsv: "text/tab-separated-values",
  tsx: "text/x-typescript",
  ttf: "font/ttf",
  txt: "text/plain",
  wasm: "application/wasm",
  wav: "audio/wav",
  webm: "video/webm",
  webmanifest: "application/manifest+json",
  webp: "image/webp",
  woff: "font/woff",
  woff2: "font/woff2",
  xls: "application/vnd.ms-excel",
  xlsm: "application/vnd.ms-excel.sheet.macroEnabled.12",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  xml: "application/xml",
  yaml: "application/yaml",
  yml: "application/yaml",
  zip: "application/zip",
};

export function contentTypeOf(name: string): string {
  const extension = extensionOf(name);
  return Object.hasOwn(CONTENT_TYPES, extension) ? (CONTENT_TYPES[extension] as string) : "application/octet-stream";
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
