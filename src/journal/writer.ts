// Keeps one agent's journal up with its session: appends the entries it does not hold yet, then commits the leaf. The
// journal must never hold the lock while the event loop runs, never write a known entry again, and never show a branch
// of which a part is missing. One sync, from its first look to its commit, is one idea: its turns share what they know.
import { setImmediate as nextTurn } from "node:timers/promises";
import { messageOf, TokenBudgetError } from "../errors.ts";
import type { EntrySource } from "../host/entries.ts";
import type { Work } from "../storage/work.ts";
import { Journal, type JournalPlace } from "./journal.ts";
import { LogBatch, type Span } from "./log-format.ts";
import { type HeldLogLock, LogLock } from "./log-lock.ts";
import type { OpenLog } from "./log-open.ts";
import { JournalPlan, OlderCalls, type Piece } from "./plan.ts";
import type { CommitRecord, JournalState } from "./state.ts";

/** Reading what others appended lets the event loop run after so long. */
const READ_SLICE_MS = 15;
/** A long write is brought to the disk whenever so much is new, away from the event loop. */
export const FLUSH_BYTES = 16_777_216;
/** How long a session that ends continues a long write, in time and in bytes. */
const END_MAX_MS = 300;
export const END_BYTES_MAX = 4_194_304;
/** A process that ends is held up no longer than this. */
const SYNC_NOW_MAX_MS = 500;

export interface JournalWriterOptions extends JournalPlace {
  readonly staleLockMs?: number | undefined;
  readonly lockWaitMs?: number | undefined;
  /** Shows syncs of more than one piece. Stopped, a sync ends with `refused`; what it appended is found by the next one. */
  readonly work?: Work | undefined;
}

/** What one turn under the lock came to. */
type Turn = "behind" | "part" | "committed";

/** A sync in progress. */
interface Progress {
  readonly source: EntrySource;
  readonly leafId: string | null;
  /** Whether its commit is to be on the disk. */
  readonly flush: boolean;
  plan: JournalPlan | undefined;
  /** Bytes appended and not yet known to be on the disk. */
  unflushed: number;
  /** A flush beside the work. */
  flushing: Promise<void> | undefined;
  /** Entries to append, once they are known. */
  total: number | undefined;
  /** Whether its branch is in the log: what fails then fails afterwards. */
  isPublished: boolean;
}

function begun(source: EntrySource, leafId: string | null, flush: boolean): Progress {
  const nothing = { plan: undefined, unflushed: 0, flushing: undefined, total: undefined };
  return { source, leafId, flush, ...nothing, isPublished: false };
}

export class JournalWriter {
  readonly #options: JournalWriterOptions;
  readonly #lock: LogLock;
  readonly #journal: Journal;
  /** Used for one piece after the other. */
  readonly #batch = new LogBatch();
  readonly #olderCalls = new OlderCalls();
  /** The leaf of the last sync that succeeded; undefined before the first and after a failure. */
  #committed: string | null | undefined;
  /** Whether the disk has it. */
  #isFlushed = true;
  #source: EntrySource | undefined;
  /** Whether the next sync is to be on the disk when it resolves. */
  #wantsFlush = false;
  /** What may still be done of a session that ends. */
  #ending: { readonly untilMs: number; bytes: number } | undefined;
  #running: Promise<void> | undefined;
  #queued: Promise<void> | undefined;

  constructor(options: JournalWriterOptions) {
    this.#options = options;
    this.#journal = new Journal(options);
    const { file, shown } = this.#journal.log.source;
    const { staleLockMs, lockWaitMs, disk } = options;
    this.#lock = new LogLock({ file, shown, staleMs: staleLockMs, waitMs: lockWaitMs, disk });
  }

  /**
   * Resolves when the branch as it is now is committed. Calls during a sync share the next one; an unchanged leaf costs
   * nothing. A failed sync is reported with a typed error, which says so when the branch was written; the next one makes it good.
   * Without `flush` every process sees the branch, and the disk has it with the next sync.
   */
  sync(source: EntrySource, { flush = true } = {}): Promise<void> {
    this.#source = source;
    this.#wantsFlush ||= flush;
    if (this.#queued) return this.#queued;
    if (!this.#running) return this.#start();
    const ended = this.#running.catch(() => undefined);
    this.#queued = ended.then(() => {
      this.#queued = undefined;
      return this.#start();
    });
    return this.#queued;
  }

  /**
   * As `sync`, in one go: for a process that is about to end. It does what it can in a moment; a sync that was on its way is
   * made good by it. What fails, or takes longer, is made good when the session is opened again.
   */
  syncNow(source: EntrySource): void {
    const leafId = source.leafId();
    if (leafId === this.#committed) return;
    this.#committed = undefined;
    const untilMs = performance.now() + SYNC_NOW_MAX_MS;
    const progress = begun(source, leafId, true);
    while (performance.now() < untilMs) {
      if (this.#journal.catchUp(READ_SLICE_MS) === false) continue;
      const turn = this.#lock.tryRun((held) => this.#journal.log.appending((log) => this.#turn(log, held, progress)));
      if (turn === "committed") {
        this.#committed = leafId;
        this.#isFlushed = true;
        return;
      }
      // All of it is in the file: the commit flushes it.
      if (progress.plan?.isDone) progress.unflushed = 0;
    }
  }

  /**
   * As `sync`, for a session that ends: what takes longer than a moment, of a sync that was on its way too, is left, and made
   * good when the session is opened again.
   */
  async end(source: EntrySource): Promise<void> {
    this.#ending = { untilMs: performance.now() + END_MAX_MS, bytes: END_BYTES_MAX };
    try {
      await this.sync(source);
    } finally {
      this.#ending = undefined;
      this.rest();
    }
  }

  /** Closes the journal's file until something is to be written again. */
  rest(): void {
    this.#journal.log.release();
  }

  #start(): Promise<void> {
    const run = this.#run();
    this.#running = run;
    const ended = () => {
      if (this.#running === run) this.#running = undefined;
    };
    run.then(ended, ended);
    return run;
  }

  async #run(): Promise<void> {
    const source = this.#source;
    const leafId = source?.leafId();
    const flush = this.#wantsFlush;
    this.#wantsFlush = false;
    if (!source || leafId === undefined) return;
    if (leafId === this.#committed) return this.#flushOnly(flush);
    this.#committed = undefined;
    if (!this.#journal.known) {
      this.#lock.sweep();
      await this.#catchUp();
    }
    const progress = begun(source, leafId, flush);
    try {
      if (!(await this.#append(progress))) return;
    } catch (error) {
      throw progress.isPublished ? this.#unsure(error) : error;
    } finally {
      await progress.flushing;
    }
    this.#committed = leafId;
    this.#isFlushed = flush;
  }

  async #flushOnly(flush: boolean): Promise<void> {
    if (!flush || this.#isFlushed) return;
    await this.#journal.log.flush();
    this.#isFlushed = true;
  }

  /** Reads what is in the journal, in slices. */
  async #catchUp(): Promise<void> {
    while (this.#journal.catchUp(READ_SLICE_MS) === false && !this.#isOver()) await nextTurn();
  }

  /** The session has ended, and the rest is to be left. */
  #isOver(): boolean {
    const ending = this.#ending;
    return ending !== undefined && (ending.bytes <= 0 || performance.now() > ending.untilMs);
  }

  /** False when the rest was left. */
  async #append(progress: Progress): Promise<boolean> {
    for (;;) {
      this.#assertGoesOn();
      const turn = await this.#lock.run((held) =>
        this.#journal.log.appending((log) => this.#turn(log, held, progress)),
      );
      this.#report(progress, turn);
      if (turn === "committed") return true;
      if (this.#isOver()) return false;
      if (turn === "behind") await this.#catchUp();
      else await this.#prepare(progress);
      await nextTurn();
    }
  }

  /** What is done beside a long write, before its next turn. */
  async #prepare(progress: Progress): Promise<void> {
    const { plan } = progress;
    if (plan?.isDone || progress.unflushed >= FLUSH_BYTES) {
      await progress.flushing;
      progress.unflushed = 0;
      progress.flushing = this.#journal.log.flush();
      // It is waited for before the next one, and at the end.
      progress.flushing.catch(() => undefined);
      if (plan?.isDone) await progress.flushing;
    }
  }

  #assertGoesOn(): void {
    if (this.#options.work?.signal.aborted)
      throw new TokenBudgetError("refused", `${this.#journal.shown} was stopped. Open it anew to go on.`);
  }

  /** The failure of a sync whose branch is in the log: what it says must not deny that. */
  #unsure(error: unknown): unknown {
    if (error instanceof TokenBudgetError && error.code === "refused") return error;
    const { cause } = error as { readonly cause?: unknown };
    const reason = cause === undefined ? "" : `: ${messageOf(cause)}`;
    const message = `${this.#journal.shown} was written, but could not be made sure of${reason}. The next write sees to it.`;
    return new TokenBudgetError("storage_failed", message, { cause: error });
  }

  #report(progress: Progress, turn: Turn): void {
    const { work } = this.#options;
    if (turn === "committed") {
      if (progress.total !== undefined) work?.report(progress.total, progress.total);
    } else if (turn === "part" && progress.plan && progress.plan.left > 0) {
      progress.total ??= progress.plan.left;
      work?.report(Math.max(0, progress.total - progress.plan.left), progress.total);
    }
  }

  #turn(log: OpenLog, held: HeldLogLock, progress: Progress): Turn {
    const { known } = this.#journal;
    const end = known?.end;
    const isRead = this.#journal.readOn(log, performance.now() + READ_SLICE_MS);
    const state = this.#journal.known;
    // What others appended meanwhile may be what was planned.
    if (!isRead || state !== known || state?.end !== end) progress.plan = undefined;
    if (!isRead || !state) return "behind";
    progress.plan ??= new JournalPlan(progress.source, progress.leafId, state, this.#olderCalls);
    if (!progress.plan.lookBack()) return "part";

    const piece = progress.plan.next(this.#batch);
    const { leafId } = progress.plan;
    const isEmpty = piece.lines.length === 0;
    if (log.size > state.end) log.truncate(state.end, held);
    // A long write is on the disk before its branch is committed.
    if (!piece.isLast || progress.unflushed > 0) {
      const isKnown = isEmpty || write(log, held, state, piece, {}, false);
      progress.unflushed += piece.batch.length;
      if (this.#ending) this.#ending.bytes -= piece.batch.length;
      return isKnown ? "part" : unread(progress);
    }
    // Written by a process that may have died before it knew the disk had it.
    if (!isEmpty || state.published?.leafId !== leafId) {
      const isKnown = write(log, held, state, piece, { leaf: leafId }, progress.flush);
      progress.isPublished = true;
      if (!isKnown) return unread(progress);
    } else if (progress.flush) log.flush();
    // What an index holds is on the disk.
    if (progress.flush) this.#journal.carryIndexOn(state);
    return "committed";
  }
}

/** What was written is read before there is a plan for the rest. */
function unread(progress: Progress): Turn {
  progress.plan = undefined;
  return "behind";
}

/** Appends a piece. False when the log has it, but what is known does not: something that it takes could not be read. */
function write(
  log: OpenLog,
  held: HeldLogLock,
  state: JournalState,
  { batch, lines }: Piece,
  record: CommitRecord,
  flush: boolean,
): boolean {
  const spans = batch.spans.slice();
  const commit = batch.commit(record, state.place.sum);
  const offset = log.append(batch, held, { flush });
  try {
    for (const [number, line] of lines.entries()) {
      const span = spans[number] as Span;
      state.add(line, { offset: offset + span.offset, length: span.length }, line.text);
    }
    state.commit(record, { ...commit, offset: offset + commit.offset }, offset + batch.length);
    return true;
  } catch {
    // Reading it from the log tells what is wrong, if it still is.
    return false;
  }
}
