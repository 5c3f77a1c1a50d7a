// The way from an entry back to its root. Session files are not validated: a parent may be missing, be no id, or lead back
// to an entry that was passed already. Then the way ends there; every walk over parents goes through here. Pure.
import type { EntrySource, LogEntry } from "../host/entries.ts";

/**
 * Entries from `from` back to the root, each read once. It stops before an entry that the caller knows already, and then
 * returns that one's id; otherwise it returns null.
 */
export function* ancestry(
  source: EntrySource,
  from: unknown,
  isKnown: (id: string) => boolean = () => false,
): Generator<LogEntry, string | null> {
  const passed = new Set<string>();
  for (let id = from, steps = 1; typeof id === "string"; steps++) {
    if (passed.add(id).size < steps) return null;
    if (isKnown(id)) return id;
    const entry = source.entry(id);
    if (!entry) return null;
    yield entry;
    id = entry.parentId;
  }
  return null;
}
