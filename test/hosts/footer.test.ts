// The footer line is true within a second, whatever changes it, and a person is told what nobody could write down.

import type { ExtensionFactory } from "@mariozechner/pi-coding-agent";
import { expect, it } from "vitest";
import { getTokenBudgetTask } from "../../api.ts";
import { call, text } from "../../fixtures/pi/scripted-model.ts";
import type { PiSession } from "../../fixtures/pi/session.ts";
import type { TaskContext } from "../../src/task/context.ts";
import { Registry } from "../../src/task/registry.ts";
import { closeAfterEach, pi, SHORT_COMPACTION, using } from "./support.ts";

closeAfterEach();

const STATUS = "pi-token-budget";
const TRUE_WITHIN_MS = 1_000;

const footer = (s: PiSession) => s.ui.statuses.get(STATUS);
const becomes = (s: PiSession, text: string) =>
  expect.poll(() => footer(s), { timeout: TRUE_WITHIN_MS, interval: 25 }).toBe(text);

it("leaves the checkpoint behind when Esc ends /compact", async () => {
  let asked: () => void = () => {};
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const s = await pi({
    ui: true,
    settings: SHORT_COMPACTION,
    next: (_request, n) => {
      // More than newer hosts keep of a session, so that they compact it.
      if (n === 0) return using(99_000, text("x".repeat(2_000)));
      asked();
      return { content: [text("a slow note")], delayMs: 1_500 };
    },
  });
  await s.prompt("hello");
  const compacting = s.session.compact().catch((error: Error) => error.message);
  await Promise.race([isAsked, compacting.then((ended) => expect(ended).toBe("not before it was asked"))]);
  await becomes(s, "w1 · checkpoint…");
  s.session.abortCompaction();
  await compacting;
  await becomes(s, "w1 · 50 % left");
});

it("shows a child that another process starts, and the category that another program gives", async () => {
  let context: TaskContext | undefined;
  const launcher: ExtensionFactory = (api) => {
    api.on("agent_end", () => {
      context = getTokenBudgetTask(api)?.context;
    });
  };
  const s = await pi({
    ui: true,
    factories: [launcher],
    next: (_request, n) => (n === 0 ? [call("notes_write_file", { path: "a.md", text: "x" })] : "done"),
  });
  await s.prompt("hello");
  const before = footer(s);
  if (!context) throw new Error("the session has no root task");
  const registry = new Registry({ context });
  const { pid } = process;
  await registry.register({
    sessionKey: "a key",
    sessionId: "a-child",
    sessionFile: null,
    address: "/root/checker",
    named: true,
    parent: "/root",
    declared: null,
    created: new Date().toISOString(),
    state: { type: "running", pid, processStart: null },
  });
  await becomes(s, `${before} · 1 agent`);
  await registry.markEnded("/root/checker", pid);
  await becomes(s, `${before}`);
  await registry.setCategory("/root", "client-x");
  await becomes(s, `${before} · client-x`);
});

it("an overflow is told once: the window opens, and no note was saved", async () => {
  const s = await pi({
    ui: true,
    next: (_request, n) =>
      n === 1
        ? { content: [], stopReason: "error", errorMessage: "prompt is too long: 210000 tokens > 200000 maximum" }
        : using(1_000, text(`answer ${n}`)),
  });
  await s.prompt("hello");
  await s.prompt("go on");
  const told = s.ui.notices.filter(({ message }) => message.includes("too long for the model"));
  expect(told.map(({ message }) => message)).toEqual([
    expect.stringMatching(/window w2 opens without a new note; .* stands in the history of w1/),
  ]);
});

it("says which it is: a window that holds nothing, or a checkpoint that is being saved", async () => {
  let second: Promise<void> | undefined;
  const s = await pi({
    ui: true,
    next: (_request, n) => {
      if (n !== 1) return using(1_000, text("answer"));
      second = s.session.prompt("/context new");
      return [call("notes_write_file", { path: "checkpoint.md", text: "the state" })];
    },
  });
  await s.session.prompt("/context new");
  expect(s.ui.notices.at(-1)?.message).toBe("This window holds nothing yet, so there is nothing to leave behind.");
  await s.prompt("hello");
  await s.session.prompt("/context new");
  await second;
  await s.settled();
  expect(s.ui.notices.map(({ message }) => message)).toContain(
    "A checkpoint of this window is being saved already; the next one opens when it is saved.",
  );
});
