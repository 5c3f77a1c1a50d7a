// Which form of document a file has, by the extension of its name. Pure.

export type FileForm = "text" | "html" | "spreadsheet" | "word" | "pdf" | "other";

const EXTENSIONS: Readonly<Record<Exclude<FileForm, "other">, readonly string[]>> = {
  text: ["csv", "tsv", "txt", "md", "markdown", "json", "log", "xml", "yaml", "yml"],
  html: ["html", "htm"],
  spreadsheet: ["xlsx", "xlsm", "xls", "ods"],
  word: ["docx"],
  pdf: ["pdf"],
};

/** Lower-cased, without the dot; empty when the name has none. */
export function extensionOf(name: string): string {
  return /\.([a-z0-9]{1,16})$/.exec(name.toLowerCase())?.[1] ?? "";
}

export function formOf(name: string): FileForm {
  const extension = extensionOf(name);
  const found = Object.entries(EXTENSIONS).find(([, extensions]) => extensions.includes(extension));
  return (found?.[0] as FileForm | undefined) ?? "other";
}

/** Whether its lines are rows, whose cells commas or tabs part. */
export function isTable(name: string): boolean {
  return ["csv", "tsv"].includes(extensionOf(name));
}
