// What is asked of the parsing worker, and what it answers. Types alone: the worker is plain JavaScript (parsing/).

/** `text`: a plain file that is not UTF-8. */
export type ParsedForm = "text" | "html" | "spreadsheet" | "word" | "pdf";

export interface WorkerRequest {
  readonly form: ParsedForm;
  readonly bytes: Uint8Array;
  /** The worker stops reading after so many characters. */
  readonly maxChars: number;
}

/** A sheet's cells as the sheet displays them. */
export interface SheetContent {
  readonly name: string;
  readonly rows: readonly (readonly string[])[];
  readonly totalRows: number;
}

export type WorkerAnswer =
  | {
      readonly type: "text";
      readonly text: string;
      /** The encoding that was guessed; absent when the file says which it is, and in formats that have none. */
      readonly guess?: string | undefined;
    }
  | { readonly type: "sheets"; readonly sheets: readonly SheetContent[]; readonly leftOut: number }
  | { readonly type: "pages"; readonly pages: readonly string[]; readonly totalPages: number }
  /** The bytes are no text in any encoding that is known here. */
  | { readonly type: "binary" }
  /** An optional library that is not installed. */
  | { readonly type: "missing"; readonly library: string }
  | { readonly type: "failed"; readonly name: string; readonly message: string };
