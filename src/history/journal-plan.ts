// What a sync has to append: the entries of the branch that the journal does not hold, oldest first, cut into pieces that
// take a moment each. It walks parents from the leaf and stops at the first known entry, so it costs what is new.
import type { EntrySource, LogEntry } from "../host/entries.ts";
import { callsOf } from "../log/placing.ts";
import type { LogBatch } from "../storage/append-log-lines.ts";
import { type JournalLine, lineOf } from "./journal-facts.ts";
import type { OlderCalls } from "./journal-older-calls.ts";
import type { JournalState } from "./journal-state.ts";

/** A piece ends after so much text or time, so that the event loop runs in between. */
const PIECE_BYTES = 524_288;
const PIECE_MS = 8;

export interface Piece {
  readonly batch: LogBatch;
  /** The entries of its lines. */
  readonly entries: readonly JournalLine[];
  /** Nothing is left after it. */
  readonly isLast: boolean;
}

export class JournalPlan {
  readonly leafId: string | null;
  readonly #source: EntrySource;
  readonly #olderCalls: OlderCalls;
  /** Newest first. */
  readonly #fresh: LogEntry[] = [];
  /** The calls of the newest assistant entry before the next piece. */
  #calls: ReadonlyMap<string, string>;

  constructor(source: EntrySource, leafId: string | null, state: JournalState, olderCalls: OlderCalls) {
    this.#source = source;
    this.#olderCalls = olderCalls;
    let known = -1;
    let id = leafId;
    while (id !== null) {
      known = state.find(id);
      if (known !== -1) break;
      const entry = source.entry(id);
      if (!entry) break;
      this.#fresh.push(entry);
      id = entry.parentId;
    }
    this.#calls = this.#fresh.length === 0 ? new Map() : state.batchAfter(known).calls;
    // A leaf that is nowhere makes an empty branch, as it does for the live index.
    this.leafId = this.#fresh.length > 0 || known !== -1 ? leafId : null;
  }

  get isDone(): boolean {
    return this.#fresh.length === 0;
  }

  /** The next piece, in a batch that is emptied for it. */
  next(batch: LogBatch): Piece {
    batch.clear();
    const entries: JournalLine[] = [];
    const untilMs = performance.now() + PIECE_MS;
    while (this.#fresh.length > 0 && batch.length < PIECE_BYTES) {
      const entry = this.#fresh.pop() as LogEntry;
      this.#olderCalls.follow(entry);
      const tool = this.#olderTool(entry);
      const line = { entry, tool };
      batch.add(...lineOf(line));
      entries.push(line);
      if (performance.now() > untilMs) break;
    }
    return { batch, entries, isLast: this.isDone };
  }

  #olderTool(entry: LogEntry): string | undefined {
    if (entry.type !== "message") return undefined;
    if (entry.message?.role === "assistant") this.#calls = callsOf(entry);
    const toolCallId: unknown = entry.message?.role === "toolResult" ? entry.message.toolCallId : undefined;
    if (typeof toolCallId !== "string" || this.#calls.has(toolCallId)) return undefined;
    return this.#olderCalls.nameOf(toolCallId, this.#source);
  }
}
