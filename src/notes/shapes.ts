// What models and programs are shown of a note. Pure types.

/** A note, without its text. */
export interface NoteInfo {
  /** Relative to the agent's notes. */
  readonly path: string;
  /** Bytes of its UTF-8. */
  readonly bytes: number;
  /** ISO 8601. */
  readonly createdAt: string;
  /** When it was last written, ISO 8601. */
  readonly updatedAt: string;
}

/** A note with its text. */
export interface NoteText {
  /** The whole note; bytes that are no UTF-8 show as U+FFFD. */
  readonly text: string;
  /** Bytes of its UTF-8. */
  readonly bytes: number;
  /** When it was last written, ISO 8601. */
  readonly updatedAt: string;
}
