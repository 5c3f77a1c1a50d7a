// A session lived through, for properties of the window machine: random moves of user, model, tools and host, carried out
// on a log as the live window would, asking the machine at each step. It keeps what the invariants speak of.
import { BranchIndex } from "../../src/log/branch.ts";
import { CANCELLED_ENTRY, CHECKPOINT_ENTRY, controlType, OPENED_ENTRY, type OpenerCause } from "../../src/log/marks.ts";
import type { BudgetLevel } from "../../src/window/budget.ts";
import { CURSOR_AT_START, type FactCursor, factsSince, unconsolidated } from "../../src/window/facts.ts";
import {
  type Effect,
  fenceOf,
  INITIAL_STATE,
  type LiveEvent,
  step,
  type WindowState,
} from "../../src/window/machine.ts";
import { call, openerDetails, TestLog, text } from "../log/branches.ts";

export const MOVES = [
  "user",
  "answer",
  "failed_answer",
  "tool_turn",
  "note_turn",
  "failed_note_turn",
  "unstored_note_turn",
  "blocked_note_turn",
  "blank_note_turn",
  "no_tools_turn",
  "changed_new_context_turn",
  "changed_note_turn",
  "two_notes_turn",
  "foreign_note_turn",
  "new_context_turn",
  "mixed_turn",
  "budget_reminder",
  "budget_fallback",
  "budget_hard",
  "queue_cleared",
  "settled",
  "threshold",
  "refused_threshold",
  "overflow",
  "overflow_settled",
  "manual_saved",
  "manual_refused",
  "manual_failed_later",
  "manual_stubborn",
  "manual_cancelled_early",
  "left_without_note",
  "foreign_compaction",
  "restart",
] as const;
export type Move = (typeof MOVES)[number];

export interface Opening {
  readonly cause: OpenerCause;
  readonly fenced: boolean;
  readonly hadWork: boolean;
  /** A second overflow in a row, with nothing answered since the first. */
  readonly repeats: boolean;
}

/** Requests under one fence before its window opens without a note. */
export const FENCE_REQUESTS = 3;

/** What becomes of a call: how it ends, and whose note it writes. */
interface CallFate {
  readonly ends?: "saved" | "failed" | "unstored" | "blocked" | "blank";
  readonly whose?: "own" | "other";
  /** Somebody else's hook replaces the details of its result. */
  readonly changed?: boolean;
}

export class Life {
  readonly log = new TestLog();
  readonly branch = new BranchIndex();
  state: WindowState = INITIAL_STATE;
  /** Each window opened by this package, with what stood before it. */
  readonly openings: Opening[] = [];
  /** Successful note writes that a fence let through, by the fence's request. */
  readonly writesUnderFence = new Map<string, number>();
  /** Responses under a fence since the user last spoke, by the fence's request. */
  readonly requestsUnderFence = new Map<string, number>();
  /** The most there have been under one fence. */
  mostRequests = 0;
  /** Control messages that reached the branch, as `window kind`. */
  readonly delivered: string[] = [];
  /** Checkpoints asked for by hand and cancelled before their message was on the branch. */
  readonly cancelledEarly = new Set<string>();
  /** Tools that ran under a fence and were no own note write. */
  ranUnderFence = 0;
  /** Windows that overflows have opened since the user last spoke or another window opened; and the most there ever were. */
  overflows = 0;
  mostOverflows = 0;
  /** Windows in a row that opened because nothing was saved under a fence; and the most there ever were. */
  unnoted = 0;
  mostUnnoted = 0;
  #cursor: FactCursor = CURSOR_AT_START;
  #queue: {
    kind: "reminder" | "fallback" | "manual_checkpoint";
    windowId: string;
    requestId: string;
    hard: number | undefined;
  }[] = [];
  #n = 0;
  #canWrite = true;
  /** A batch whose write of an own note was blocked has ended. */
  #wasBlocked = false;

  refresh(): void {
    if (this.branch.catchUp(this.log) === "rebuilt") {
      this.state = INITIAL_STATE;
      this.#cursor = CURSOR_AT_START;
    }
    const { facts, cursor } = factsSince(this.branch, this.#cursor);
    for (const fact of facts) this.state = step(this.state, fact).state;
    this.#cursor = cursor;
  }

  tell(event: LiveEvent): Effect | undefined {
    this.refresh();
    const { state, effect } = step(this.state, event);
    this.state = state;
    return effect;
  }

  play(move: Move): void {
    this.refresh();
    switch (move) {
      case "user":
        this.log.user(`message ${++this.#n}`);
        this.overflows = 0;
        this.requestsUnderFence.clear();
        break;
      case "answer":
      case "failed_answer":
        this.#request(move === "failed_answer");
        this.#answer(move === "answer" ? 1_000 : undefined);
        break;
      case "tool_turn":
        return this.#turn([["read"]]);
      case "note_turn":
        return this.#turn([["notes_write_file"]]);
      case "failed_note_turn":
        return this.#turn([["notes_write_file", { ends: "failed" }]]);
      case "unstored_note_turn":
        return this.#turn([["notes_write_file", { ends: "unstored" }]]);
      case "blocked_note_turn":
        return this.#turn([["notes_write_file", { ends: "blocked" }]]);
      case "blank_note_turn":
        return this.#turn([["notes_write_file", { ends: "blank" }]]);
      case "changed_note_turn":
        return this.#turn([["notes_write_file", { changed: true }], ["read"]]);
      case "changed_new_context_turn":
        return this.#turn([["new_context", { changed: true }], ["read"]]);
      case "no_tools_turn":
        this.#canWrite = false;
        this.#turn([["read"]]);
        this.#canWrite = true;
        return;
      case "two_notes_turn":
        return this.#turn([["notes_write_file"], ["notes_append_to_file"], ["read"]]);
      case "foreign_note_turn":
        return this.#turn([["notes_write_file", { whose: "other" }]]);
      case "new_context_turn":
        return this.#turn([["new_context"]]);
      case "mixed_turn":
        return this.#turn([["read"], ["new_context"], ["read"], ["new_context"]]);
      case "budget_reminder":
        return this.#budget("reminder", undefined);
      case "budget_fallback":
        return this.#budget("fallback", undefined);
      case "budget_hard":
        return this.#budget("ok", 50_000);
      case "queue_cleared":
        this.#queue = [];
        break;
      case "settled":
        this.#deliver();
        this.#keepPromise();
        this.#carryOut(this.tell({ type: "settled", aborted: false }));
        break;
      case "threshold":
      case "overflow":
        return this.#hostCompaction(move);
      case "refused_threshold":
        this.#keepPromise();
        return this.#compact(this.tell({ ...this.#compactionEvent("threshold"), isRefused: true }));
      case "overflow_settled":
        return this.#overflowSettled();
      case "manual_saved":
      case "manual_refused":
      case "manual_failed_later":
        return this.#manual(move);
      case "manual_stubborn":
        return this.#manualStubborn();
      case "left_without_note":
        this.#keepPromise();
        this.#carryOut(this.tell({ type: "left_without_note" }));
        break;
      case "manual_cancelled_early":
        return this.#cancelledEarly();
      case "foreign_compaction":
        this.log.compaction(`summary ${++this.#n}`);
        break;
      case "restart":
        // What somebody else took out of a result dies with the process: the fence stands, and its write is asked for again.
        if (this.state.live.promised) this.writesUnderFence.clear();
        this.state = INITIAL_STATE;
        this.#cursor = CURSOR_AT_START;
        this.#queue = [];
        this.#wasBlocked = false;
    }
    this.refresh();
  }

  #deliver(): void {
    for (const { kind, windowId, requestId, hard } of this.#queue.splice(0)) {
      this.log.customMessage(controlType(kind), kind, {
        kind,
        windowId,
        requestId,
        ...(hard === undefined ? {} : { hardTriggerTokens: hard }),
      });
      const isCurrent = windowId === this.branch.current.id && kind !== "manual_checkpoint";
      const repeats = this.delivered.includes(`${windowId} ${kind}`);
      if (isCurrent && !repeats) this.delivered.push(`${windowId} ${kind}`);
      this.refresh();
    }
  }

  #request(fails = false): void {
    this.#deliver();
    if (this.#wasBlocked) this.#carryOut(this.tell({ type: "write_blocked" }));
    this.#wasBlocked = false;
    this.#keepPromise();
    this.#carryOut(this.tell({ type: "request_due", fenceMaxRequests: FENCE_REQUESTS, canWrite: true }));
    this.tell({ type: "request_sent", delivered: [] });
    // How often a provider that fails is asked again is the host's to bound.
    if (!fails) this.#countRequest();
  }

  #countRequest(): void {
    const fence = fenceOf(this.state);
    if (!fence) return;
    const requests = (this.requestsUnderFence.get(fence.requestId) ?? 0) + 1;
    this.requestsUnderFence.set(fence.requestId, requests);
    this.mostRequests = Math.max(this.mostRequests, requests);
  }

  #carryOut(effect: Effect | undefined): void {
    if (effect?.type === "open_window") {
      this.log.custom(OPENED_ENTRY, this.#opening(effect.cause));
    } else if (effect?.type === "rest_fence") {
      this.log.custom(CANCELLED_ENTRY, { requestId: effect.requestId });
    } else if (effect?.type === "step_aside") {
      // As the shell does: nothing stands open any more.
      const { fence } = this.state.log;
      if (fence) this.log.custom(CANCELLED_ENTRY, { requestId: fence.requestId });
    }
    this.refresh();
  }

  #keepPromise(): void {
    this.refresh();
    if (this.state.live.promised) this.#carryOut(this.tell({ type: "promise_broken", isMeant: true }));
  }

  #answer(tokens: number | undefined): void {
    const usage = { input: tokens ?? 0, output: 0, totalTokens: tokens ?? 0 };
    const stopReason = tokens === undefined ? "error" : "stop";
    this.log.message({ role: "assistant", content: [text("answer")], stopReason, usage });
    this.refresh();
  }

  /** A turn of calls, run one after the other, each asked for first. */
  #turn(calls: readonly (readonly [string, CallFate?])[]): void {
    this.#request();
    const path = (fate: CallFate = {}) => (fate.whose === "other" ? "/root/other/notes/a.md" : "a.md");
    const blocks = calls.map(([name, fate]) => call(`c${++this.#n}`, name, { path: path(fate) }));
    this.log.assistant(...blocks);
    this.refresh();
    blocks.forEach((block, i) => {
      this.#run(block, calls[i]?.[1] ?? {});
    });
    this.#deliver();
  }

  #run({ id, name }: { id: string; name: string }, { ends = "saved", whose = "own", changed = false }: CallFate): void {
    const isWrite = name.startsWith("notes_");
    const effect = this.tell({
      type: "tool_called",
      toolCallId: id,
      ownNoteWrite: isWrite && whose === "own",
      blank: ends === "blank",
      canWrite: this.#canWrite,
      opensWindow: false,
      nested: false,
      batchIsClosed: this.branch.batchIsClosed,
    });
    const fence = fenceOf(this.state);
    if (effect?.type === "refuse_tool") return this.#result(id, name, true);
    if (effect?.type === "rest_fence") this.#carryOut(effect);
    else if (fence && !isWrite) this.ranUnderFence++;
    if (name === "new_context") return this.#newContext(id, changed);
    if (!isWrite) return this.#result(id, name, false);
    if (ends === "blocked") {
      this.#wasBlocked = true;
      return this.#result(id, name, true);
    }
    if (ends !== "saved") {
      this.tell({ type: "note_failed", toolCallId: id, ofStorage: ends === "unstored" });
      this.tell({ type: "tool_failed", toolCallId: id });
      return this.#result(id, name, true);
    }
    const saved = this.tell({ type: "note_saved", toolCallId: id });
    if (whose === "own") this.unnoted = 0;
    if (fence && saved)
      this.writesUnderFence.set(fence.requestId, (this.writesUnderFence.get(fence.requestId) ?? 0) + 1);
    if (saved?.type === "mark_checkpoint") this.log.custom(CHECKPOINT_ENTRY, { requestId: saved.requestId });
    const opens = saved?.type === "open_window" && !changed;
    this.#result(id, name, false, opens ? this.#opening(saved.cause) : undefined);
  }

  #newContext(id: string, changed: boolean): void {
    const { batchIsClosed } = this.branch;
    const effect = this.tell({ type: "new_context_called", toolCallId: id, batchIsClosed });
    const opens = effect?.type === "open_window" && !changed;
    this.#result(id, "new_context", effect?.type === "refuse_new_context", opens ? this.#opening("new_context") : {});
  }

  #opening(cause: OpenerCause): unknown {
    this.overflows = cause === "overflow" ? this.overflows + 1 : 0;
    this.mostOverflows = Math.max(this.mostOverflows, this.overflows);
    const { log } = this.state;
    const fenced = fenceOf(this.state) !== undefined;
    const repeats = cause === "overflow" && log.overflows > 0 && !log.answered;
    if (cause === "without_note" && fenced) this.unnoted++;
    else if (cause !== "without_note" && cause !== "overflow") this.unnoted = 0;
    this.mostUnnoted = Math.max(this.mostUnnoted, this.unnoted);
    this.openings.push({ cause, fenced, hadWork: log.hasWork, repeats });
    return openerDetails(this.branch.current.number + 1, cause);
  }

  #result(toolCallId: string, toolName: string, isError: boolean, details: unknown = {}): void {
    this.log.message({ role: "toolResult", toolCallId, toolName, content: [text("result")], details, isError });
    this.refresh();
  }

  #budget(level: BudgetLevel, hardTriggerTokens: number | undefined): void {
    const effect = this.tell({ type: "budget_checked", level, hardTriggerTokens, via: "steer" });
    if (effect?.type !== "send_control") return;
    const requestId = `r${++this.#n}`;
    this.#queue.push({
      kind: effect.kind,
      windowId: this.branch.current.id,
      requestId,
      hard: effect.hardTriggerTokens,
    });
  }

  #compactionEvent(reason: "manual" | "threshold" | "overflow"): LiveEvent & { type: "compaction_started" } {
    const requestId = `m${++this.#n}`;
    return {
      type: "compaction_started",
      reason,
      enabled: true,
      canWrite: true,
      isOurs: false,
      isFinished: false,
      isRefused: false,
      unconsolidatedWindows: unconsolidated(this.branch).windows,
      requestId,
    };
  }

  #hostCompaction(reason: "threshold" | "overflow"): void {
    this.#keepPromise();
    this.#compact(this.tell(this.#compactionEvent(reason)));
  }

  #compact(effect: Effect | undefined): void {
    if (effect?.type === "open_window") {
      this.log.compaction(`opens ${++this.#n}`, this.#opening(effect.cause));
    } else if (effect?.type === "consolidate") {
      const { id } = this.branch.current;
      this.log.compaction(`repeats ${++this.#n}`, { consolidates: id, bootstrap: "b", bootstrapTimestamp: 1 });
    }
    this.refresh();
  }

  #overflowSettled(): void {
    this.#keepPromise();
    if (this.tell({ type: "overflow_settled" })?.type !== "open_window") return;
    const number = this.branch.current.number + 1;
    this.#opening("overflow");
    this.log.openingMessage(number, "overflow");
    this.refresh();
  }

  /** A checkpoint turn in which the model calls other tools for as long as it is asked. */
  #manualStubborn(): void {
    this.#keepPromise();
    const effect = this.tell(this.#compactionEvent("manual"));
    if (effect?.type !== "run_checkpoint") return this.#compact(effect);
    const { requestId } = effect;
    this.requestsUnderFence.clear();
    const details = { kind: "manual_checkpoint", windowId: this.branch.current.id, requestId };
    this.log.customMessage(controlType("manual_checkpoint"), "please", details);
    this.refresh();
    while (
      this.tell({ type: "request_due", fenceMaxRequests: FENCE_REQUESTS, canWrite: true })?.type !==
      "end_checkpoint_turn"
    ) {
      this.tell({ type: "request_sent", delivered: [requestId] });
      this.#countRequest();
      const block = call(`c${++this.#n}`, "read");
      this.log.assistant(block);
      this.#run(block, {});
    }
    this.tell({ type: "manual_ended" });
    this.log.custom(CANCELLED_ENTRY, { requestId });
    this.refresh();
  }

  /** Escape while the message of a checkpoint asked for by hand is still queued: it arrives after its cancel mark. */
  #cancelledEarly(): void {
    const requestId = `h${++this.#n}`;
    if (this.tell({ type: "checkpoint_asked", requestId })?.type !== "run_checkpoint") return;
    const windowId = this.branch.current.id;
    this.#queue.push({ kind: "manual_checkpoint", windowId, requestId, hard: undefined });
    this.log.custom(CANCELLED_ENTRY, { requestId });
    this.cancelledEarly.add(requestId);
    this.tell({ type: "manual_ended" });
  }

  #manual(move: "manual_saved" | "manual_refused" | "manual_failed_later"): void {
    this.#keepPromise();
    const effect = this.tell(this.#compactionEvent("manual"));
    if (effect?.type !== "run_checkpoint") return this.#compact(effect);
    const { requestId } = effect;
    const before = this.branch.current.number;
    this.requestsUnderFence.clear();
    const details = { kind: "manual_checkpoint", windowId: this.branch.current.id, requestId };
    this.log.customMessage(controlType("manual_checkpoint"), "please", details);
    this.tell({ type: "request_sent", delivered: [requestId] });
    this.#turn(move === "manual_refused" ? [["read"]] : [["notes_write_file"]]);
    const isSaved = this.state.live.manual?.phase === "saved" || this.branch.current.number > before;
    this.tell({ type: isSaved ? "manual_compacting" : "manual_ended" });
    if (!isSaved) {
      this.log.custom(CANCELLED_ENTRY, { requestId });
    } else if (this.branch.current.number === before && move === "manual_saved") {
      this.log.compaction(`manual ${++this.#n}`, this.#opening("manual_compact"));
    }
    this.refresh();
    this.tell({ type: "manual_ended" });
  }
}
