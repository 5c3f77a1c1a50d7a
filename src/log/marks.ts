// What this package writes on the session log, and how it is recognised again: by hand, since every entry of a branch is
// looked at. Pure; writes nothing.

import type { LogEntry, LogMessage } from "../host/entries.ts";
import { isRecord } from "../shapes.ts";

/** Every custom type of ours starts with this. */
export const CUSTOM_TYPE_PREFIX = "pi-token-budget:";

/** A custom message that opens a window and is its bootstrap. */
export const WINDOW_MESSAGE = `${CUSTOM_TYPE_PREFIX}window`;

/** Messages that exist only in the copy sent to the model. */
export const BOOTSTRAP_MESSAGE = `${CUSTOM_TYPE_PREFIX}bootstrap`;
export const IDENTITY_MESSAGE = `${CUSTOM_TYPE_PREFIX}identity`;

/** What our control messages are for. */
export type ControlKind = "reminder" | "fallback" | "manual_checkpoint" | "continuation";

/** The details of a control message: a message of ours that asks the model for something. */
export interface ControlDetails {
  readonly kind: ControlKind;
  /** The window it belongs to; in another window it is stale. */
  readonly windowId: string;
  readonly requestId: string;
  /** The hard trigger's value when that is what armed a fallback, in tokens. */
  readonly hardTriggerTokens?: number;
}

const CONTROL_KINDS: ReadonlySet<string> = new Set<ControlKind>([
  "reminder",
  "fallback",
  "manual_checkpoint",
  "continuation",
]);

/** A data entry that takes a control message back: its request was cancelled. */
export const CANCELLED_ENTRY = `${CUSTOM_TYPE_PREFIX}cancelled`;

export function controlType(kind: ControlKind): string {
  return `${CUSTOM_TYPE_PREFIX}${kind}`;
}

/** The control message that a custom message or its entry is. */
export function controlOf(message: {
  readonly customType?: string;
  readonly details?: unknown;
}): ControlDetails | undefined {
  const { details } = message;
  if (!isOwnCustomType(message.customType) || !isRecord(details)) return undefined;
  const isControl =
    typeof details.kind === "string" &&
    CONTROL_KINDS.has(details.kind) &&
    message.customType === controlType(details.kind as ControlKind) &&
    typeof details.windowId === "string" &&
    typeof details.requestId === "string";
  return isControl ? (details as unknown as ControlDetails) : undefined;
}

/** A data entry that says that the note asked for by a manual-checkpoint request is saved. */
export const CHECKPOINT_ENTRY = `${CUSTOM_TYPE_PREFIX}checkpoint`;

/** A data entry by which a person switches this package off or on in the session: the newest of a branch counts. */
export const SWITCH_ENTRY = `${CUSTOM_TYPE_PREFIX}switch`;

/** Whether a switch entry says on; undefined when it is none. */
export function switchOf(entry: LogEntry | undefined): boolean | undefined {
  if (entry?.customType !== SWITCH_ENTRY || !isRecord(entry.data)) return undefined;
  return typeof entry.data.on === "boolean" ? entry.data.on : undefined;
}

/** A data entry that opens a window between two requests of a running loop, where no message can be put in time. */
export const OPENED_ENTRY = `${CUSTOM_TYPE_PREFIX}opened`;

/** A data entry by which a person asks to remove at the end what the session leaves; for the process and session it names. */
export const FORGET_ENTRY = `${CUSTOM_TYPE_PREFIX}forget`;

/** The process and the session that a forget entry names; undefined when it is none. */
export function forgottenBy(entry: LogEntry | undefined): unknown {
  return entry?.customType === FORGET_ENTRY ? entry.data : undefined;
}

export interface RequestMark {
  readonly type: "cancelled" | "checkpoint";
  readonly requestId: string;
}

/** What a data entry of ours says of a control message's request. */
export function requestMarkOf(entry: LogEntry): RequestMark | undefined {
  if (entry.type !== "custom" || !isRecord(entry.data) || typeof entry.data.requestId !== "string") return undefined;
  const { requestId } = entry.data;
  if (entry.customType === CANCELLED_ENTRY) return { type: "cancelled", requestId };
  return entry.customType === CHECKPOINT_ENTRY ? { type: "checkpoint", requestId } : undefined;
}

/** Tools whose successful result may carry opener details. */
const OPENING_TOOLS: ReadonlySet<string> = new Set(["new_context", "notes_write_file", "notes_append_to_file"]);

const OWN_WRITE_TOOLS: ReadonlySet<string> = new Set(["notes_write_file", "notes_append_to_file"]);

export type OpenerCause = "new_context" | "checkpoint" | "manual_compact" | "overflow" | "context_new" | "without_note";

/** The details of an opener, fixed when the window opens and stored with it. */
export interface OpenerDetails {
  readonly opens: string;
  readonly number: number;
  readonly previous: string;
  readonly cause: OpenerCause;
  readonly bootstrap: string;
  /** Milliseconds since 1970. */
  readonly bootstrapTimestamp: number;
}

/** The details of a consolidation: a host compaction that repeats an open window's bootstrap and opens nothing. */
export interface ConsolidationDetails {
  readonly consolidates: string;
  readonly bootstrap: string;
  readonly bootstrapTimestamp: number;
}

/** What makes a window start. */
export type Opener =
  | { readonly type: "tool_result"; readonly toolCallId: string; readonly details: OpenerDetails }
  | { readonly type: "message"; readonly details: OpenerDetails }
  | { readonly type: "entry"; readonly details: OpenerDetails }
  | { readonly type: "compaction"; readonly details: OpenerDetails }
  | { readonly type: "foreign_compaction" };

/** Whether nothing was noted for the window that it opens. */
export function isWithoutNote(opener: Opener): boolean {
  const cause = "details" in opener ? opener.details.cause : undefined;
  return cause === "overflow" || cause === "without_note";
}

function openerDetails(details: unknown): OpenerDetails | undefined {
  if (!isRecord(details)) return undefined;
  const complete =
    typeof details.opens === "string" &&
    typeof details.number === "number" &&
    typeof details.previous === "string" &&
    typeof details.cause === "string" &&
    typeof details.bootstrap === "string" &&
    typeof details.bootstrapTimestamp === "number";
  return complete ? (details as unknown as OpenerDetails) : undefined;
}

/** The opener that a message is, in a request or in a `message` entry. */
export function openerOfMessage(message: LogMessage): Opener | undefined {
  if (message.role === "toolResult") {
    if (message.isError === true || !OPENING_TOOLS.has(message.toolName ?? "")) return undefined;
    const details = openerDetails(message.details);
    return details && message.toolCallId !== undefined
      ? { type: "tool_result", toolCallId: message.toolCallId, details }
      : undefined;
  }
  if (message.role === "custom" && message.customType === WINDOW_MESSAGE) {
    const details = openerDetails(message.details);
    return details && { type: "message", details };
  }
  return undefined;
}

/** The opener that an entry is, if it is one. A new kind of opener is one more case here. */
export function openerOf(entry: LogEntry): Opener | undefined {
  switch (entry.type) {
    case "message":
      return entry.message && openerOfMessage(entry.message);
    case "custom_message": {
      if (entry.customType !== WINDOW_MESSAGE) return undefined;
      const details = openerDetails(entry.details);
      return details && { type: "message", details };
    }
    case "custom": {
      if (entry.customType !== OPENED_ENTRY) return undefined;
      const details = openerDetails(entry.data);
      return details && { type: "entry", details };
    }
    case "compaction": {
      if (consolidationOf(entry)) return undefined;
      const details = openerDetails(entry.details);
      return details ? { type: "compaction", details } : { type: "foreign_compaction" };
    }
    default:
      return undefined;
  }
}

export function consolidationOf(entry: LogEntry): ConsolidationDetails | undefined {
  if (entry.type !== "compaction" || !isRecord(entry.details)) return undefined;
  const { consolidates, bootstrap, bootstrapTimestamp } = entry.details;
  if (typeof consolidates !== "string" || typeof bootstrap !== "string" || typeof bootstrapTimestamp !== "number")
    return undefined;
  return { consolidates, bootstrap, bootstrapTimestamp };
}

/** A message that tells of tasks which are over: content of the session like any other, and no machinery. */
export const ENDED_TASKS_MESSAGE = `${CUSTOM_TYPE_PREFIX}ended-tasks`;

/** A message of this package's own machinery, of whatever kind. */
export function isOwnCustomType(customType: unknown): boolean {
  return (
    typeof customType === "string" && customType.startsWith(CUSTOM_TYPE_PREFIX) && customType !== ENDED_TASKS_MESSAGE
  );
}

/** Calls and results of these tools are left out of ordinary lists and searches. */
export function isInternalTool(name: string): boolean {
  return (
    name.startsWith("history_") ||
    name.startsWith("notes_") ||
    name === "get_context_remaining" ||
    name === "new_context"
  );
}

export function isNoteWriteTool(name: string): boolean {
  return OWN_WRITE_TOOLS.has(name);
}
