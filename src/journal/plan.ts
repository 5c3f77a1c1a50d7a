// What a sync has to append: the entries of the branch that the journal does not hold, oldest first, cut into pieces that
// take a moment each. It walks parents from the leaf and stops at the first known entry, so it costs what is new.
import type { EntrySource, LogEntry } from "../host/entries.ts";
import { ancestry } from "../log/ancestry.ts";
import { callsOf } from "../log/item-place.ts";
import { cutJson, type JournalLine, lineAround, textSpan } from "./line.ts";
import type { LogBatch, Span } from "./log-format.ts";
import type { JournalState } from "./state.ts";

/** A piece ends after so much text or time, so that the event loop runs in between. */
export const PIECE_BYTES = 1_048_576;
const PIECE_MS = 8;
/** Entries between two looks at the clock. */
const STEPS_PER_LOOK = 256;

/** A line of a piece, and where its only text lies in it. */
export interface PlannedLine extends JournalLine {
  readonly text: Span | undefined;
}

export interface Piece {
  readonly batch: LogBatch;
  readonly lines: readonly PlannedLine[];
  /** Nothing is left after it. */
  readonly isLast: boolean;
}

export class JournalPlan {
  readonly #source: EntrySource;
  readonly #olderCalls: OlderCalls;
  readonly #state: JournalState;
  #leafId: string | null;
  /** Back from the leaf to the first entry that the journal holds. */
  readonly #back: Iterator<LogEntry, string | null>;
  /** Newest first. */
  readonly #fresh: LogEntry[] = [];
  #isComplete = false;
  /** The calls of the newest assistant entry before the next piece. */
  #calls: ReadonlyMap<string, string> = new Map();

  constructor(source: EntrySource, leafId: string | null, state: JournalState, olderCalls: OlderCalls) {
    this.#source = source;
    this.#olderCalls = olderCalls;
    this.#state = state;
    this.#leafId = leafId;
    this.#back = ancestry(source, leafId, (id) => state.find(id) !== -1);
  }

  get leafId(): string | null {
    return this.#leafId;
  }

  /** Entries that are not in a piece yet. */
  get left(): number {
    return this.#fresh.length;
  }

  get isDone(): boolean {
    return this.#isComplete && this.#fresh.length === 0;
  }

  /** Collects what is new; false when the time for it is over. */
  lookBack(): boolean {
    if (this.#isComplete) return true;
    const untilMs = performance.now() + PIECE_MS;
    let step = this.#back.next();
    for (let steps = 1; !step.done; steps++) {
      this.#fresh.push(step.value);
      if (steps % STEPS_PER_LOOK === 0 && performance.now() > untilMs) return false;
      step = this.#back.next();
    }
    this.#isComplete = true;
    const known = step.value === null ? -1 : this.#state.find(step.value);
    if (this.#fresh.length > 0) this.#calls = this.#state.batchAfter(known).calls;
    // A leaf that is nowhere makes an empty branch, as it does for the live index.
    else if (known === -1) this.#leafId = null;
    return true;
  }

  /** The next piece, in a batch that is emptied for it. */
  next(batch: LogBatch): Piece {
    batch.clear();
    const lines: PlannedLine[] = [];
    const untilMs = performance.now() + PIECE_MS;
    for (let entry = this.#fresh.at(-1); entry && batch.length < PIECE_BYTES; entry = this.#fresh.at(-1)) {
      this.#fresh.pop();
      this.#olderCalls.follow(entry);
      const tool = this.#olderTool(entry);
      const { length } = batch.add(...lineAround(JSON.stringify(entry), tool));
      lines.push({ entry, tool, text: textSpan(cutJson(entry), length, tool) });
      if (performance.now() > untilMs) break;
    }
    return { batch, lines, isLast: this.isDone };
  }

  #olderTool(entry: LogEntry): string | undefined {
    if (entry.type !== "message") return undefined;
    if (entry.message?.role === "assistant") this.#calls = callsOf(entry);
    const toolCallId: unknown = entry.message?.role === "toolResult" ? entry.message.toolCallId : undefined;
    if (typeof toolCallId !== "string" || this.#calls.has(toolCallId)) return undefined;
    return this.#olderCalls.nameOf(toolCallId, this.#source);
  }
}

/**
 * Finds the call that a tool result answers when that is further back than the newest tool batch, which is rare: the branch is
 * gone through once, and then followed.
 */
export class OlderCalls {
  /** Tool names by call id on the branch up to `#tip`; undefined until they are asked for. */
  #names: Map<string, string> | undefined;
  #tip: string | null = null;

  /** Call it with every entry in order. */
  follow(entry: LogEntry): void {
    if (entry.parentId !== this.#tip) this.#names = undefined;
    this.#tip = entry.id;
    if (this.#names && entry.message?.role === "assistant")
      for (const [id, name] of callsOf(entry)) this.#names.set(id, name);
  }

  /** The tool of the nearest call with this id, seen from the entry followed last. */
  nameOf(toolCallId: string, source: EntrySource): string | undefined {
    if (!this.#names) {
      this.#names = new Map();
      for (const entry of ancestry(source, this.#tip)) {
        if (entry.message?.role !== "assistant") continue;
        for (const [id, name] of callsOf(entry)) if (!this.#names.has(id)) this.#names.set(id, name);
      }
    }
    return this.#names.get(toolCallId);
  }
}
