// What the scenarios share: sessions that are closed after each test, and short words for looking at requests.
import { afterEach, expect } from "vitest";
import type { Answer, Block, Request, RequestMessage } from "../../fixtures/pi/scripted-model.ts";
import { call, textOf } from "../../fixtures/pi/scripted-model.ts";
import { type OpenOptions, openPi, type PiSession } from "../../fixtures/pi/session.ts";
import { until } from "../../fixtures/pi/wait.ts";

const open: PiSession[] = [];

/** A session that ends with the test, and must not have had a failing extension. */
export async function pi(options: OpenOptions): Promise<PiSession> {
  const session = await openPi(options);
  open.push(session);
  return session;
}

export function closeAfterEach(): void {
  afterEach(async () => {
    for (const session of open.splice(0)) {
      await session.dispose();
      expect(session.errors).toEqual([]);
    }
  });
}

/** Waits for so many requests. */
export async function asked(session: PiSession, count: number): Promise<void> {
  await until(`${count} requests, but ${session.requests.length}`, () => session.requests.length >= count);
}

/** Waits for so many tool calls that have begun. */
export async function toolRuns(session: PiSession, count = 1): Promise<void> {
  const begun = () => session.events.filter(({ type }) => type === "tool_execution_start").length;
  await until(`${count} running tools`, () => begun() >= count);
}

/** The newest message of the branch; labels and facts of ours may stand behind it. */
export const lastMessage = (session: PiSession) =>
  session.branch().findLast(({ type }) => type === "message" || type === "custom_message");

export const texts = (request: Request | undefined) => (request?.messages ?? []).map((message) => textOf(message));
export const first = (request: Request | undefined) => texts(request)[0] ?? "";
export const last = (request: Request | undefined) => texts(request).at(-1) ?? "";
export const roles = (request: Request | undefined) => (request?.messages ?? []).map((message) => message.role);
export const whole = (request: Request | undefined) => JSON.stringify(request?.messages ?? []);

/** Every result has its call before it in the same request, and every call its result. */
export function unpaired(messages: readonly RequestMessage[]): string[] {
  const waiting = new Set<string>();
  const wrong: string[] = [];
  for (const message of messages) {
    if (message.role === "toolResult") {
      if (!waiting.delete(message.toolCallId ?? "")) wrong.push(`result ${message.toolCallId}`);
    } else if (Array.isArray(message.content)) {
      for (const block of message.content as readonly Block[]) if (block.type === "toolCall") waiting.add(block.id);
    }
  }
  return [...wrong, ...Array.from(waiting, (id) => `call ${id}`)];
}

/** An answer that reports so many tokens in use. */
export function using(tokens: number, ...content: readonly Block[]): Answer {
  return { content, usage: { input: tokens, output: 0, totalTokens: tokens } };
}

/** The control messages of a kind on the branch. */
export function controls(session: PiSession, kind: string): unknown[] {
  return session
    .branch()
    .filter((entry) => entry.type === "custom_message" && entry.customType === `pi-token-budget:${kind}`);
}

export function compactions(session: PiSession): { details?: unknown }[] {
  return session.branch().filter((entry) => entry.type === "compaction") as { details?: unknown }[];
}

/** Settings under which every host compacts sessions of a few messages. */
export const SHORT_COMPACTION = { compaction: { enabled: true, reserveTokens: 16_384, keepRecentTokens: 100 } };

/** What a command answers: the newest notice once it has settled. */
export async function said(s: PiSession, command: string): Promise<string> {
  await s.session.prompt(command);
  await s.settled();
  return s.ui.notices.at(-1)?.message ?? "";
}

/** A person asked for a fresh window, and the newest message asks the model for its note. */
export const isAsked = (request: Request) => last(request).includes("the user asked for a fresh window");

/** The call that saves such a note. */
export const note = (path = "checkpoint.md") => call("notes_write_file", { path, text: "the state" });
