// What the session log says of its content's category: the newest entry of ours on the branch. Pure.
import type { EntrySource, LogEntry } from "../host/entries.ts";
import { ancestry } from "../log/ancestry.ts";
import { CUSTOM_TYPE_PREFIX } from "../log/marks.ts";
import { isRecord } from "../shapes.ts";
import { type Category, parseCategory } from "../task/category.ts";

export const CATEGORY_ENTRY = `${CUSTOM_TYPE_PREFIX}category`;

export interface CategoryData {
  readonly category: Category;
}

export type LogCategory =
  /** The branch has no such entry. */
  | { readonly type: "silent" }
  /** At a time in milliseconds since 1970. */
  | { readonly type: "said"; readonly category: Category; readonly at: number }
  /** Its newest entry says nothing that can be read. */
  | { readonly type: "damaged" };

const SILENT: LogCategory = { type: "silent" };

/** What one entry says; undefined when it is another kind of entry. */
export function categoryIn(
  entry: Pick<LogEntry, "type" | "customType" | "data" | "timestamp">,
): LogCategory | undefined {
  if (entry.type !== "custom" || entry.customType !== CATEGORY_ENTRY) return undefined;
  const { data } = entry;
  try {
    if (!isRecord(data) || !("category" in data)) return { type: "damaged" };
    const at = Date.parse(entry.timestamp);
    // Without a time, nothing outdates it.
    return { type: "said", category: parseCategory(data.category), at: Number.isNaN(at) ? Number.MAX_VALUE : at };
  } catch {
    return { type: "damaged" };
  }
}

/** What a branch says, by its newest category entry. */
export function categoryOf(newest: LogEntry | undefined): LogCategory {
  return (newest && categoryIn(newest)) ?? SILENT;
}

/** The same, found by walking back: for a session whose branch is not indexed. */
export function categoryOnLog(source: EntrySource): LogCategory {
  for (const entry of ancestry(source, source.leafId())) {
    const said = categoryIn(entry);
    if (said) return said;
  }
  return SILENT;
}
