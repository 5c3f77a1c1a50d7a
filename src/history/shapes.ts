// What models and programs are shown of a window and of a place in the log. Pure types.

/** What a window of a history holds. */
export interface WindowContents {
  /** Number of items that lists show. */
  readonly items: number;
  /** Id of the first of them; null in a window without items. */
  readonly firstItemId: string | null;
  /** Id of the last of them; null in a window without items. */
  readonly lastItemId: string | null;
  /** When its first item of any kind was written, ISO 8601; null in a window without items. */
  readonly startedAt: string | null;
  /** When its last item of any kind was written, ISO 8601; null in a window without items. */
  readonly endedAt: string | null;
  /** Whether it is the last one. */
  readonly current: boolean;
}

/** `current`: on the branch that the session shows; `other`: on an abandoned one of the same session. */
export type ItemBranch = "current" | "other";
