// Questions to a context of the host: whose session it is, who watches it, what it can do now. Each has one answer, whichever
// host it is.
import { writeSync } from "node:fs";
import { runningHost } from "../packages/host.ts";
import type { HostContext } from "./api.ts";
import type { EntrySource } from "./entries.ts";

export interface SessionIdentity {
  readonly sessionId: string;
  /** Absolute; undefined for a session in memory. */
  readonly sessionFile: string | undefined;
  /** When the session was made; milliseconds since 1970, 0 when the log does not say. */
  readonly createdAt: number;
}

/** How long a callback waits for the newest entry on hosts that write it late. */
const LATE_ENTRY_WAIT_MS = 20;

/** Whether a terminal interface draws on this process's screen: anything else written there would garble it. */
export function isScreenDrawn(): boolean {
  return process.stdin.isRaw === true && process.stderr.isTTY === true;
}

/**
 * Shows one line to the person where a screen shows it, and otherwise on standard error. A session without a
 * screen in a process with one, such as the child of a task, says nothing: its parent shows what became of it.
 */
export function notify(ctx: HostContext, message: string, type: "info" | "warning" | "error"): void {
  try {
    if (hasScreen(ctx)) ctx.ui.notify(message, type);
    else if (!isScreenDrawn()) process.stderr.write(`${message}\n`);
  } catch {
    // The session is gone, and its screen with it.
  }
}

/** Whether this is Pi's own program in print mode: what it writes to standard output is what a pipe gets. */
function isPrinting(ctx: HostContext): boolean {
  if (ctx.hasUI || isScreenDrawn() || (ctx.mode ?? "print") !== "print" || runningHost() === undefined) return false;
  // 0.73.1 does not say its mode; it is a command-line flag.
  const { argv } = process;
  return !argv.some(
    (word, at) => /^--mode=(json|rpc)$/.test(word) || (word === "--mode" && /^(json|rpc)$/.test(argv[at + 1] ?? "")),
  );
}

const FULL_PIPE_WAIT_MS = 10;

/** Prints a text to standard output in print mode, past the host, which sends there only what a model says last. */
export async function printResult(ctx: HostContext, text: string): Promise<void> {
  if (!isPrinting(ctx)) return;
  const bytes = Buffer.from(`${text.toWellFormed()}\n`, "utf8");
  for (let written = 0; written < bytes.length; ) {
    try {
      written += writeSync(1, bytes, written);
    } catch (error) {
      // The pipe is full, or its reader is gone.
      if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) return;
      await new Promise((resolve) => setTimeout(resolve, FULL_PIPE_WAIT_MS));
    }
  }
}

/** Shows a message at the end of a session, when a terminal interface may have left its screen already. */
export function lastWord(ctx: HostContext, message: string): void {
  if (isScreenDrawn()) notify(ctx, message, "warning");
  else process.stderr.write(`${message}\n`);
}

/** The session's system prompt; empty when the host cannot give it now. */
export function systemPromptOf(ctx: HostContext): string {
  try {
    return ctx.getSystemPrompt();
  } catch {
    return "";
  }
}

/** Without a person or a client, as in print mode, the process may end with the run: nothing may be started after it. */
export function endsWithRun(ctx: HostContext): boolean {
  return !ctx.hasUI;
}

/** Whether a run that was just requested has started. 1.x starts it only after its own handlers. */
export function hasStarted(ctx: HostContext): boolean {
  return !ctx.isIdle();
}

/** Runs a host compaction and waits for it. Fails when the host has nothing to compact. */
export function compact(ctx: HostContext): Promise<void> {
  return new Promise((resolve, reject) => ctx.compact({ onComplete: () => resolve(), onError: reject }));
}

/** Whether a person watches a terminal interface or an RPC client does. */
export function hasScreen(ctx: HostContext): boolean {
  return ctx.hasUI;
}

export function entriesOf(ctx: HostContext): EntrySource {
  const manager = ctx.sessionManager;
  // A last line without an id leaves the host without a leaf.
  return {
    leafId: () => manager.getLeafId() ?? null,
    entry: (id) => manager.getEntry(id),
  };
}

export function identityOf(ctx: HostContext): SessionIdentity {
  const manager = ctx.sessionManager;
  const created = Date.parse(manager.getHeader()?.timestamp ?? "");
  return {
    sessionId: manager.getSessionId(),
    sessionFile: manager.getSessionFile(),
    createdAt: Number.isNaN(created) ? 0 : created,
  };
}

/** The session file that this session was forked from, or was begun after; undefined when its header names none. */
export function parentSessionOf(ctx: HostContext): string | undefined {
  return ctx.sessionManager.getHeader()?.parentSession;
}

export function modelTakesImages(ctx: HostContext): boolean {
  return ctx.model?.input.includes("image") ?? false;
}

/** A project's own settings count unless the host says that the person has not trusted them. */
export function projectSettingsCount(ctx: HostContext): boolean {
  return ctx.isProjectTrusted?.() ?? true;
}

/** 0.73.1 writes the newest message a moment after it shows it: waits for it, briefly. */
export async function waitForEntry(ctx: HostContext, isMissing: () => boolean): Promise<void> {
  if (ctx.mode !== undefined) return;
  const until = performance.now() + LATE_ENTRY_WAIT_MS;
  while (isMissing() && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 1));
}
