// Finds the call that a tool result answers when that is further back than the newest tool batch, which is rare: the
// branch is gone through once, and then followed. It reads the session's own entries, never the journal.
import type { EntrySource, LogEntry } from "../host/entries.ts";
import { ancestry } from "../log/ancestry.ts";
import { callsOf } from "../log/placing.ts";

export class OlderCalls {
  /** Tool names by call id on the branch up to `#tip`; undefined until somebody asks. */
  #names: Map<string, string> | undefined;
  #tip: string | null = null;

  /** To be told of every entry in order. */
  follow(entry: LogEntry): void {
    if (entry.parentId !== this.#tip) this.#names = undefined;
    this.#tip = entry.id;
    if (this.#names && entry.message?.role === "assistant") {
      for (const [id, name] of callsOf(entry)) this.#names.set(id, name);
    }
  }

  /** The tool of the nearest call with this id, seen from the entry followed last. */
  nameOf(toolCallId: string, source: EntrySource): string | undefined {
    this.#names ??= this.#goBack(source);
    return this.#names.get(toolCallId);
  }

  #goBack(source: EntrySource): Map<string, string> {
    const names = new Map<string, string>();
    for (const entry of ancestry(source, this.#tip)) {
      if (entry.message?.role !== "assistant") continue;
      for (const [callId, name] of callsOf(entry)) if (!names.has(callId)) names.set(callId, name);
    }
    return names;
  }
}
