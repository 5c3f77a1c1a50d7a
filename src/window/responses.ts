// What the current window's newest response and its batch of calls say. Pure.
import type { LogMessage } from "../host/entries.ts";
import { isOtherFailure } from "../host/overflow.ts";
import type { BranchIndex, Row } from "../log/branch.ts";
import { isNoteWriteTool } from "../log/marks.ts";
import { callOf } from "./facts.ts";
import type { WindowState } from "./machine.ts";

export function newestResponse({ rows, current }: BranchIndex): LogMessage | undefined {
  for (let i = rows.length - 1; i >= current.firstRow; i--)
    if (rows[i]?.head.role === "assistant") return rows[i]?.entry.message;
  return undefined;
}

/** Whether the newest response is a whole answer. */
export function isFinished(branch: BranchIndex): boolean {
  return newestResponse(branch)?.stopReason === "stop";
}

/** The path argument of a call of the current window. */
export function pathOfCall(branch: BranchIndex, toolCallId: string | undefined): string | undefined {
  const call = toolCallId === undefined ? undefined : callOf(branch, toolCallId);
  const path = (call?.arguments as { path?: unknown } | null | undefined)?.path;
  return typeof path === "string" ? path : undefined;
}

export interface WriteJudge {
  /** Calls that this package has judged or run: whatever became of them, no other extension stopped them. */
  readonly seen: ReadonlySet<string>;
  /** Whether a path names one of the agent's own notes. */
  readonly isOwnNote: (path: unknown) => boolean;
  /** Whether a call reaches the tool: the host has it, and its arguments are valid. */
  readonly canRun: (toolName: string, args: unknown) => boolean;
}

/** Whether the newest batch holds a sound write of an own note that ended in an error before it came to us. */
export function isWriteBlocked(branch: BranchIndex, { seen, isOwnNote, canRun }: WriteJudge): boolean {
  const { rows, current } = branch;
  for (let i = rows.length - 1; i >= current.firstRow && rows[i]?.head.role === "tool"; i--) {
    const { head, entry } = rows[i] as Row;
    const { toolCallId = "" } = head;
    const call = entry.message?.isError === true && !seen.has(toolCallId) && callOf(branch, toolCallId);
    if (!call || !isNoteWriteTool(call.name) || call.message?.stopReason === "length") continue;
    const { path } = (call.arguments ?? {}) as { path?: unknown };
    if (isOwnNote(path) && canRun(call.name, call.arguments)) return true;
  }
  return false;
}

/**
 * The provider's words for the newest request, when it failed in a full window, and not of something that another window
 * would not change: it is taken for too long, whatever they are. A window that such a refusal has opened counts as full
 * until something is answered in it, so that the next refusal is reported and opens none.
 */
export function refusedAsFull(branch: BranchIndex, { log, live }: WindowState, isFull: boolean): string | undefined {
  const newest = newestResponse(branch);
  if (newest?.stopReason !== "error" || live.manual || isOtherFailure(newest)) return undefined;
  const countsAsFull = isFull || log.fence !== undefined || (log.overflows > 0 && !log.answered);
  return countsAsFull ? (newest.errorMessage ?? "it gave no reason") : undefined;
}
