// Random session trees on Pi's own session manager: after every fork, navigation, resume or reload the state kept up
// with the log is the one that a fresh reader of the shown branch gets, and nothing of a sibling branch counts.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type SessionEntry, SessionManager } from "@mariozechner/pi-coding-agent";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { EntrySource, LogEntry } from "../../src/host/entries.ts";
import { BranchIndex } from "../../src/log/branch.ts";
import { CANCELLED_ENTRY, CHECKPOINT_ENTRY, controlType, OPENED_ENTRY, WINDOW_MESSAGE } from "../../src/log/marks.ts";
import { clearedEntry, TODO_ENTRY, type TodoEntry, todoEntry, todoState } from "../../src/todo/replay.ts";
import { LiveWindow } from "../../src/window/live.ts";
import type { LogState } from "../../src/window/log-state.ts";
import { fenceOf, replay } from "../../src/window/machine.ts";
import { call, openerDetails, text } from "../log/branches.ts";
import { figure, rounds } from "../rounds.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "pi-token-budget-trees-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const GROW = [
  "user",
  "answer",
  "failed_answer",
  "tool_turn",
  "saved_note",
  "failed_note",
  "new_context",
  "reminder",
  "fallback",
  "checkpoint",
  "manual_checkpoint",
  "manual_saved",
  "manual_cancelled",
  "opening_message",
  "opening_entry",
  "opening_compaction",
  "consolidation",
  "foreign_compaction",
  "bookmark",
  "todo_write",
  "todo_done",
  "todo_clear",
] as const;
const MOVE = ["navigate", "to_start", "fork", "resume", "reload"] as const;
type Step = { readonly do: (typeof GROW)[number] | (typeof MOVE)[number]; readonly at: number };

const steps = fc.array(
  fc.record({
    do: fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...GROW) },
      { weight: 1, arbitrary: fc.constantFrom(...MOVE) },
    ),
    at: fc.nat(1_000),
  }),
  { maxLength: 45 },
);

const USAGE = { input: 900, output: 100, cacheRead: 0, cacheWrite: 0, totalTokens: 1_000 };

function sourceOf(manager: SessionManager): EntrySource {
  return {
    leafId: () => manager.getLeafId(),
    entry: (id) => manager.getEntry(id) as LogEntry | undefined,
  };
}

/** A session manager that is driven about, and the live window that follows it. */
class Tree {
  manager: SessionManager;
  live: LiveWindow;
  readonly #onDisk: boolean;
  #n = 0;

  constructor(onDisk: boolean) {
    this.#onDisk = onDisk;
    this.manager = onDisk ? SessionManager.create(folder, folder) : SessionManager.inMemory(folder);
    this.live = new LiveWindow(sourceOf(this.manager));
  }

  play({ do: what, at }: Step): void {
    switch (what) {
      case "navigate": {
        const entries = this.manager.getEntries();
        const target = entries[at % Math.max(1, entries.length)];
        if (target) this.manager.branch(target.id);
        return;
      }
      case "to_start":
        return this.manager.resetLeaf();
      case "fork": {
        const branch = this.manager.getBranch();
        const target = branch[at % Math.max(1, branch.length)];
        // The host's manager becomes the new session; in Pi another instance of the extension follows it.
        if (target) this.manager.createBranchedSession(target.id);
        return;
      }
      case "resume": {
        const file = this.manager.getSessionFile();
        const isWritten = this.manager.getEntries().some((entry) => JSON.stringify(entry).includes('"assistant"'));
        if (this.#onDisk && file !== undefined && isWritten) this.manager = SessionManager.open(file, folder);
        this.live = new LiveWindow(sourceOf(this.manager));
        return;
      }
      case "reload":
        this.live = new LiveWindow(sourceOf(this.manager));
        return;
      default:
        this.#grow(what);
    }
  }

  #message(message: Readonly<Record<string, unknown>>): void {
    this.manager.appendMessage({ timestamp: ++this.#n, ...message } as never);
  }

  #assistant(...content: readonly unknown[]): void {
    this.#message({
      role: "assistant",
      content,
      usage: USAGE,
      stopReason: "stop",
      api: "a",
      provider: "p",
      model: "m",
    });
  }

  #todo(entry: TodoEntry): void {
    this.manager.appendCustomEntry(TODO_ENTRY, entry);
  }

  #turn(name: string, isError: boolean, details: unknown = {}): void {
    const id = `call-${++this.#n}`;
    this.#assistant(call(id, name, { path: "a.md" }));
    this.#message({ role: "toolResult", toolCallId: id, toolName: name, content: [text("result")], details, isError });
  }

  #control(kind: "reminder" | "fallback" | "manual_checkpoint"): string {
    const requestId = `request-${++this.#n}`;
    const details = { kind, requestId, windowId: new WindowOracle(this.manager.getBranch()).id };
    this.manager.appendCustomMessageEntry(controlType(kind), kind, false, details);
    return requestId;
  }

  #next(): number {
    return new WindowOracle(this.manager.getBranch()).number + 1;
  }

  #grow(what: (typeof GROW)[number]): void {
    const { manager } = this;
    switch (what) {
      case "user":
        return this.#message({ role: "user", content: [text(`message ${++this.#n}`)] });
      case "answer":
        return this.#assistant(text(`answer ${++this.#n}`));
      case "failed_answer":
        return this.#message({ role: "assistant", content: [], usage: USAGE, stopReason: "error", errorMessage: "no" });
      case "tool_turn":
        return this.#turn("read", false);
      case "saved_note":
        return this.#turn("notes_write_file", false);
      case "failed_note":
        return this.#turn("notes_append_to_file", true);
      case "new_context":
        return this.#turn("new_context", false, openerDetails(this.#next()));
      case "checkpoint":
        this.#control("fallback");
        return this.#turn("notes_write_file", false, openerDetails(this.#next(), "checkpoint"));
      case "reminder":
      case "fallback":
      case "manual_checkpoint":
        return void this.#control(what);
      case "manual_saved":
        manager.appendCustomEntry(CHECKPOINT_ENTRY, { requestId: this.#control("manual_checkpoint") });
        return;
      case "manual_cancelled":
        manager.appendCustomEntry(CANCELLED_ENTRY, { requestId: this.#control("manual_checkpoint") });
        return;
      case "opening_message":
        manager.appendCustomMessageEntry(WINDOW_MESSAGE, "b", false, openerDetails(this.#next(), "context_new"));
        return;
      case "opening_entry":
        manager.appendCustomEntry(OPENED_ENTRY, openerDetails(this.#next(), "without_note"));
        return;
      case "opening_compaction":
        manager.appendCompaction(`own ${++this.#n}`, "none", 1, openerDetails(this.#next(), "manual_compact"), true);
        return;
      case "consolidation": {
        const { id } = new WindowOracle(manager.getBranch());
        const details = { consolidates: id, bootstrap: "b", bootstrapTimestamp: ++this.#n };
        manager.appendCompaction(`repeats ${this.#n}`, "none", 1, details, true);
        return;
      }
      case "foreign_compaction":
        manager.appendCompaction(`foreign ${++this.#n}`, "none", 1, undefined, false);
        return;
      case "todo_write":
        return this.#todo(todoEntry([{ content: `step ${++this.#n}`, status: "in_progress" }], "/root"));
      case "todo_done":
        return this.#todo(todoEntry([{ content: `step ${++this.#n}`, status: "completed" }], "/root"));
      case "todo_clear":
        return this.#todo(clearedEntry("/root"));
      case "bookmark":
        manager.appendCustomEntry("somebody:bookmark", { at: ++this.#n });
    }
  }
}

/** What a branch says by the plainest reading of it: from its end backwards, one question at a time. */
class WindowOracle {
  readonly number: number;
  readonly id: string;
  readonly fence: string | undefined;
  readonly compactionId: string | undefined;

  constructor(branch: readonly SessionEntry[]) {
    const openers = branch.filter(isOpener);
    this.number = openers.length + 1;
    this.id = `w${this.number}`;
    this.compactionId = branch.findLast((entry) => entry.type === "compaction")?.id;
    const window = branch.slice(branch.findLastIndex(isOpener) + 1);
    this.fence = fenceIn(window, this.id);
  }
}

function isOpener(entry: SessionEntry): boolean {
  const data = entry as { details?: { opens?: unknown; consolidates?: unknown } };
  if (entry.type === "compaction") return data.details?.consolidates === undefined;
  if (entry.type === "message")
    return (entry.message as { details?: { opens?: unknown } }).details?.opens !== undefined;
  if (entry.type === "custom") return entry.customType === OPENED_ENTRY;
  return entry.type === "custom_message" && entry.customType === WINDOW_MESSAGE;
}

/** The first fallback of the window stands until it ends; before it, the newest manual request that is not over. */
function fenceIn(window: readonly SessionEntry[], windowId: string): string | undefined {
  const asked = window.flatMap((entry) => {
    const details = (entry as { details?: { kind?: string; windowId?: string; requestId?: string } }).details;
    return entry.type === "custom_message" && details?.windowId === windowId ? [details] : [];
  });
  const fallback = asked.find(({ kind }) => kind === "fallback");
  if (fallback) return fallback.requestId;
  const manual = asked.findLast(({ kind }) => kind === "manual_checkpoint");
  const isOver = window.some(
    (entry) =>
      entry.type === "custom" &&
      (entry.customType === CHECKPOINT_ENTRY || entry.customType === CANCELLED_ENTRY) &&
      (entry.data as { requestId?: string }).requestId === manual?.requestId,
  );
  return isOver ? undefined : manual?.requestId;
}

function shown(branch: BranchIndex) {
  return {
    rows: branch.rows.map(({ head, window }) => [head.id, window, head.role, head.internal]),
    windows: branch.windows.map(({ id, openerEntryId, firstRow }) => [id, openerEntryId, firstRow]),
    compaction: [branch.lastCompaction?.entry.id, branch.lastCompaction?.rowsBefore],
    marks: branch.requestMarks.map(({ mark, rowsBefore }) => [mark.type, mark.requestId, rowsBefore]),
    bookmark: branch.lastCustom("somebody:bookmark")?.entry.id,
    batch: [...branch.newestBatch.keys(), branch.batchIsClosed],
  };
}

/** The todo list by a walk of the branch: the last write, and whether the user spoke after a finished one. */
function todosOf(branch: readonly SessionEntry[]) {
  const at = branch.findLastIndex((entry) => entry.type === "custom" && entry.customType === TODO_ENTRY);
  const entry = branch[at];
  const { todos, clearedBy } = (entry?.type === "custom" ? entry.data : { todos: [] }) as TodoEntry;
  const spoke = branch.slice(at + 1).some((one) => one.type === "message" && one.message.role === "user");
  const isFinished = todos.length > 0 && todos.every(({ status }) => status === "completed");
  return { todos, clearedByUser: clearedBy === "user", isFolded: isFinished && spoke };
}

/** Everything the log decides, as the incremental state and as a fresh reader see it. */
function check(tree: Tree): LogState {
  const { manager, live } = tree;
  const branch = manager.getBranch();
  const fresh = new BranchIndex();
  fresh.catchUp(sourceOf(manager));
  const kept = live.state;
  expect(shown(live.branch)).toEqual(shown(fresh));
  expect(kept.log).toEqual(replay(fresh).log);
  const oracle = new WindowOracle(branch);
  expect(live.branch.current.id).toBe(oracle.id);
  expect(kept.log.number).toBe(oracle.number);
  expect(live.branch.lastCompaction?.entry.id).toBe(oracle.compactionId);
  expect(fenceOf(kept)?.requestId).toBe(oracle.fence);
  expect(todoState(live.branch, "/root")).toMatchObject(todosOf(branch));
  const onBranch = new Set(branch.map((entry) => entry.id));
  expect(live.branch.rows.filter(({ head }) => !onBranch.has(head.id))).toEqual([]);
  return kept.log;
}

const RUNS = rounds(500, 2_000);

describe(`over ${RUNS} random trees`, () => {
  for (const onDisk of [false, true]) {
    it(`of a session ${onDisk ? "with a file" : "in memory"}, the shown branch alone decides after every step`, () => {
      fc.assert(
        fc.property(steps, (moves) => {
          const tree = new Tree(onDisk);
          for (const move of moves) {
            tree.play(move);
            check(tree);
          }
        }),
        { numRuns: onDisk ? Math.ceil(RUNS / 2) : RUNS },
      );
      figure("trees", RUNS);
    });
  }
});

describe("a branch that is left and come back to", () => {
  it("shows its own windows, fence and saved checkpoint again, and its sibling's compaction never counts", () => {
    const tree = new Tree(false);
    for (const what of ["user", "new_context", "user", "tool_turn"] as const) tree.play({ do: what, at: 0 });
    const fork = tree.manager.getLeafId() ?? "";
    tree.play({ do: "fallback", at: 0 });
    const fenced = tree.manager.getLeafId() ?? "";
    expect(check(tree)).toMatchObject({ number: 2, fallbackGiven: true });

    tree.manager.branch(fork);
    expect(check(tree)).toMatchObject({ number: 2, fallbackGiven: false, fence: undefined });
    tree.play({ do: "foreign_compaction", at: 0 });
    expect(check(tree)).toMatchObject({ number: 3 });

    tree.manager.branch(fenced);
    expect(check(tree)).toMatchObject({ number: 2, fallbackGiven: true, fence: { kind: "fallback" } });
    expect(tree.live.branch.lastCompaction).toBeUndefined();
    tree.play({ do: "to_start", at: 0 });
    expect(check(tree)).toMatchObject({ number: 1, hasWork: false });
  });

  it("does not remember a write that only the sibling let through", () => {
    const tree = new Tree(false);
    tree.play({ do: "user", at: 0 });
    tree.play({ do: "fallback", at: 0 });
    const fenced = tree.manager.getLeafId() ?? "";
    expect(
      tree.live.step({
        type: "tool_called",
        toolCallId: "a",
        ownNoteWrite: true,
        blank: false,
        canWrite: true,
        opensWindow: false,
        nested: false,
        batchIsClosed: false,
      }),
    ).toEqual({
      type: "allow_tool",
    });
    expect(tree.live.state.live.claim).toBe("a");
    tree.play({ do: "bookmark", at: 0 });
    expect(tree.live.state.live.claim).toBe("a");
    tree.manager.branch(fenced);
    expect(fenceOf(tree.live.state)?.kind).toBe("fallback");
    expect(tree.live.state.live.claim).toBeUndefined();
  });
});
