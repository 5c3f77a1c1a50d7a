// What is sent to the model, over a real SessionManager whose own context building gives the messages.
import { SessionManager } from "@mariozechner/pi-coding-agent";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EntrySource, LogEntry, LogMessage } from "../../src/host/entries.ts";
import { BranchIndex } from "../../src/log/branch.ts";
import { WINDOW_MESSAGE } from "../../src/log/marks.ts";
import { projectRequest, type SentIds } from "../../src/window/projection.ts";
import { openerDetails } from "../log/branches.ts";

const IDENTITY = { text: "identity", timestamp: 7 };

class Session {
  readonly manager = SessionManager.inMemory("/nowhere");
  readonly branch = new BranchIndex();
  sent: SentIds | undefined;
  #time = 1_000;
  #calls = 0;

  get source(): EntrySource {
    return {
      leafId: () => this.manager.getLeafId(),
      entry: (id) => this.manager.getEntry(id) as LogEntry | undefined,
    };
  }

  append(message: Record<string, unknown>): string {
    return this.manager.appendMessage({ timestamp: this.#time++, ...message } as never);
  }

  user(content: string): string {
    return this.append({ role: "user", content });
  }

  /** An assistant message with one call per name, and the results in order. */
  turn(names: readonly string[], details: (name: string) => unknown = () => ({})): void {
    const calls = names.map((name) => ({ type: "toolCall", id: `c${++this.#calls}`, name, arguments: {} }));
    this.append({ role: "assistant", content: [{ type: "text", text: this.tag() }, ...calls], stopReason: "toolUse" });
    for (const { id, name } of calls)
      this.append({
        role: "toolResult",
        toolCallId: id,
        toolName: name,
        content: [{ type: "text", text: this.tag() }],
        details: details(name),
        isError: false,
      });
  }

  answer(stopReason = "stop"): void {
    this.append({ role: "assistant", content: [{ type: "text", text: this.tag() }], stopReason });
  }

  /** Names the window a text was written in. */
  tag(): string {
    this.branch.catchUp(this.source);
    return `from ${this.branch.current.id};`;
  }

  messages(): LogMessage[] {
    return structuredClone(this.manager.buildSessionContext().messages) as unknown as LogMessage[];
  }

  project(messages: readonly LogMessage[] = this.messages()): readonly LogMessage[] {
    this.branch.catchUp(this.source);
    const output = projectRequest({
      messages,
      branch: this.branch,
      identity: IDENTITY,
      sent: this.sent,
      cancelled: new Set(),
    });
    this.sent = output.sent;
    return output.messages;
  }

  open(number: number): void {
    this.turn(["new_context"], () => openerDetails(number));
  }
}

const contentOf = (message: LogMessage | undefined) => JSON.stringify(message?.content ?? message?.summary);
const idOf = (message: LogMessage | undefined) => /\[id: (\w+)\]/.exec(contentOf(message) ?? "")?.[1];

describe("the request", () => {
  it("starts with the identity in the first window", () => {
    const session = new Session();
    const id = session.user("hello");
    const [lead, user] = session.project();
    expect(lead).toMatchObject({ role: "custom", content: "identity", timestamp: 7 });
    expect(user?.content).toEqual([
      { type: "text", text: `[id: ${id}]` },
      { type: "text", text: "hello" },
    ]);
  });

  it("starts with the stored bootstrap behind the opener's whole batch", () => {
    const session = new Session();
    session.user("hello");
    session.turn(["read", "new_context", "read"], (name) => (name === "new_context" ? openerDetails(2) : {}));
    const after = session.user("steered");
    const messages = session.project();
    expect(messages.map(({ role }) => role)).toEqual(["custom", "user"]);
    expect(messages[0]?.content).toBe(openerDetails(2).bootstrap);
    expect(idOf(messages[1])).toBe(after);
  });

  it("cuts by the messages alone when the branch does not hold the opener yet", () => {
    const session = new Session();
    session.user("hello");
    session.project();
    session.turn(["new_context"], () => openerDetails(2));
    const messages = session.messages();
    const { messages: projected } = projectRequest({
      messages,
      branch: session.branch,
      identity: IDENTITY,
      sent: undefined,
      cancelled: new Set(),
    });
    expect(session.branch.current.id).toBe("w1");
    expect(projected.map((message) => message.content)).toEqual([openerDetails(2).bootstrap]);
  });

  it("is the same before and after a consolidation", () => {
    const session = new Session();
    session.user("hello");
    session.open(2);
    const first = session.user("more");
    session.turn(["read"]);
    const before = session.project();
    const { bootstrap, bootstrapTimestamp } = openerDetails(2);
    session.manager.appendCompaction(
      `${bootstrap} again`,
      first,
      10,
      { consolidates: "w2", bootstrap, bootstrapTimestamp },
      true,
    );
    expect(session.messages()[0]?.role).toBe("compactionSummary");
    expect(session.project()).toEqual(before);
    session.answer();
    expect(session.project().slice(0, before.length)).toEqual(before);
  });

  it("replaces our own opening compaction by the bootstrap, never both", () => {
    const session = new Session();
    session.user("hello");
    const details = openerDetails(2, "manual_compact");
    session.manager.appendCompaction("summary text", "none-1", 10, details, true);
    session.user("more");
    const messages = session.project();
    expect(messages.map(({ role }) => role)).toEqual(["custom", "user"]);
    expect(messages[0]?.content).toBe(details.bootstrap);
  });

  it("keeps somebody else's summary with its id, and what it kept, behind the identity", () => {
    const session = new Session();
    session.user("one");
    const kept = session.user("two");
    const compaction = session.manager.appendCompaction("their summary", kept, 10);
    session.user("three");
    const messages = session.project();
    expect(messages.map(({ role }) => role)).toEqual(["custom", "compactionSummary", "user", "user"]);
    expect(messages[0]?.content).toBe("identity");
    expect(idOf(messages[1])).toBe(compaction);
    expect(idOf(messages[2])).toBe(kept);
  });

  it("opens with a custom message that is opener and bootstrap in one, once", () => {
    const session = new Session();
    session.user("hello");
    const details = openerDetails(2, "context_new");
    session.manager.appendCustomMessageEntry(WINDOW_MESSAGE, details.bootstrap, false, details);
    session.user("more");
    const messages = session.project();
    expect(messages).toHaveLength(2);
    expect(messages[0]).toMatchObject({ content: details.bootstrap, timestamp: details.bootstrapTimestamp });
  });

  it("keeps the decision of the first time when an entry appears late", () => {
    const session = new Session();
    session.user("hello");
    const late = { role: "user", content: "late", timestamp: 5_000 };
    const first = session.project([...session.messages(), late]);
    expect(idOf(first.at(-1))).toBeUndefined();
    session.append(late);
    session.answer();
    const second = session.project();
    expect(second.slice(0, first.length)).toEqual(first);
  });

  it("passes over failed responses that the host leaves out of its messages", () => {
    const session = new Session();
    session.user("hello");
    session.answer("error");
    session.answer("error");
    const again = session.user("again");
    const messages = session.messages().filter((message) => message.stopReason !== "error");
    expect(idOf(session.project(messages).at(-1))).toBe(again);
  });

  it("drops control messages of another window and keeps those of this one", () => {
    const session = new Session();
    session.user("hello");
    const control = (content: string, windowId: string, requestId: string) =>
      session.manager.appendCustomMessageEntry("pi-token-budget:reminder", content, false, {
        kind: "reminder",
        windowId,
        requestId,
      });
    control("old", "w9", "r1");
    control("now", "w1", "r2");
    control("again", "w1", "r3");
    expect(session.project().map((message) => message.content)).not.toContainEqual("again");
    expect(session.project().map((message) => message.content)).toContainEqual("now");
    expect(session.project().map((message) => message.content)).not.toContainEqual("old");
  });
});

type Move =
  | "user"
  | "turn"
  | "parallel"
  | "answer"
  | "failed"
  | "open"
  | "mixed"
  | "bash"
  | "custom"
  | "consolidate"
  | "compact";
const MOVES: readonly Move[] = [
  "user",
  "turn",
  "parallel",
  "answer",
  "failed",
  "open",
  "mixed",
  "bash",
  "custom",
  "consolidate",
  "compact",
];

function play(session: Session, move: Move): unknown {
  const next = session.branch.current.number + 1;
  const opening = (name: string) => (name === "new_context" ? openerDetails(next) : {});
  switch (move) {
    case "user":
      return session.user(`${session.tag()} request`);
    case "turn":
      return session.turn(["read"]);
    case "parallel":
      return session.turn(["read", "bash", "read"]);
    case "answer":
      return session.answer();
    case "failed":
      return session.answer("error");
    case "open":
      return session.turn(["new_context"], opening);
    case "mixed":
      return session.turn(["read", "new_context", "read"], opening);
    case "bash":
      return session.append({
        role: "bashExecution",
        command: "ls",
        output: session.tag(),
        exitCode: 0,
        cancelled: false,
        truncated: false,
      });
    case "custom":
      return session.manager.appendCustomMessageEntry("other:note", session.tag(), true);
    case "consolidate": {
      const { current, rows } = session.branch;
      if (!current.opener || current.opener.type === "foreign_compaction") return undefined;
      const { bootstrap, bootstrapTimestamp } = current.opener.details;
      const kept = rows[current.firstRow + (current.opener.type === "compaction" ? 1 : 0)]?.entry.id ?? "none";
      const details = { consolidates: current.id, bootstrap, bootstrapTimestamp };
      return session.manager.appendCompaction(`${bootstrap}${Math.random()}`, kept, 10, details, true);
    }
    case "compact": {
      const details = openerDetails(next, "manual_compact");
      return session.manager.appendCompaction(`s${Math.random()}`, "none", 10, details, true);
    }
  }
}

describe("over random sessions", () => {
  it("shows nothing of a closed window, real ids, and each request as a prefix of the window's next", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...MOVES), { minLength: 1, maxLength: 50 }), (moves) => {
        const session = new Session();
        session.user("from w1; start");
        let before: { id: string; messages: readonly LogMessage[] } | undefined;
        for (const move of moves) {
          session.branch.catchUp(session.source);
          play(session, move);
          const messages = session.project();
          const { id } = session.branch.current;
          for (const message of messages.slice(1)) {
            const tag =
              /from (w\d+);/.exec(contentOf(message) ?? "")?.[1] ?? /from (w\d+);/.exec(String(message.output))?.[1];
            if (tag !== undefined) expect(tag).toBe(id);
            const shownId = idOf(message) ?? /\[id: (\w+)\]/.exec(String(message.output))?.[1];
            if (message.role !== "assistant") expect(session.manager.getEntry(shownId ?? "")).toBeDefined();
          }
          if (before?.id === id) expect(messages.slice(0, before.messages.length)).toEqual(before.messages);
          before = { id, messages };
        }
      }),
      { numRuns: 400 },
    );
  });

  it("follows the shown branch after navigation", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...MOVES), { minLength: 5, maxLength: 30 }), fc.nat(), (moves, where) => {
        const session = new Session();
        session.user("from w1; start");
        for (const move of moves) {
          session.branch.catchUp(session.source);
          play(session, move);
        }
        session.project();
        const entries = session.manager.getEntries();
        session.manager.branch(entries[where % entries.length]?.id ?? "");
        const live = session.project();
        const fresh = new BranchIndex();
        fresh.catchUp(session.source);
        expect(session.branch.current).toEqual(fresh.current);
        expect(session.branch.rows.map((row) => row.entry.id)).toEqual(fresh.rows.map((row) => row.entry.id));
        const anew = projectRequest({
          messages: session.messages(),
          branch: fresh,
          identity: IDENTITY,
          sent: undefined,
          cancelled: new Set(),
        });
        expect(live).toEqual(anew.messages);
      }),
      { numRuns: 200 },
    );
  });
});
