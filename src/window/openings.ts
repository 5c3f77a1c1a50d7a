// What is written when a window opens: opener details, the compaction that carries them, and a message that is opener and
// bootstrap in one. Pure.
import type { CompactionAnswer, HostMessage } from "../host/api.ts";
import { type BranchIndex, windowId } from "../log/branch.ts";
import { type OpenerCause, type OpenerDetails, WINDOW_MESSAGE } from "../log/marks.ts";
import { type NotesIndex, nextBootstrap, type RunningChild } from "./bootstrap.ts";

export interface Opening {
  readonly agent: string;
  readonly runId: string;
  readonly apart: string | undefined;
  readonly notes: NotesIndex;
  readonly children: readonly RunningChild[];
  readonly cause: OpenerCause;
  /** The model's window in tokens, for a bootstrap that holds the whole last request where no checkpoint was saved. */
  readonly contextWindow: number | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

export function openerDetails(branch: BranchIndex, opening: Opening): OpenerDetails {
  const { agent, runId, apart, notes, children, cause, contextWindow, now } = opening;
  const previous = branch.current;
  const number = previous.number + 1;
  const opens = windowId(number);
  const isUnsaved = cause === "overflow" || cause === "without_note";
  const unsaved = isUnsaved ? { because: cause, contextWindow: contextWindow ?? 0 } : undefined;
  const bootstrap = nextBootstrap(branch, {
    identity: { agent, runId, windowId: opens, apart },
    notes,
    children,
    unsaved,
  });
  return { opens, number, previous: previous.id, cause, bootstrap, bootstrapTimestamp: now };
}

export function openingMessage(details: OpenerDetails): HostMessage {
  return { customType: WINDOW_MESSAGE, content: details.bootstrap, display: false, details };
}

/** Hosts find the saved entry by its summary, so no two may be alike. */
export function uniqueSummary(bootstrap: string, what: string, now: number): string {
  return `${bootstrap}\n\n[${what}, ${now}]`;
}

export function openingCompaction(details: OpenerDetails, tokensBefore: number): CompactionAnswer {
  const { bootstrap, bootstrapTimestamp, opens } = details;
  const summary = uniqueSummary(bootstrap, `opens ${opens}`, bootstrapTimestamp);
  return { compaction: { summary, firstKeptEntryId: `none-${bootstrapTimestamp}`, tokensBefore, details } };
}
