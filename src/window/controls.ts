// Control messages: what the model is asked for, in the form in which it is written on the log, and which of them a request
// still shows.
import type { HostMessage } from "../host/api.ts";
import type { LogMessage } from "../host/entries.ts";
import type { BranchIndex } from "../log/branch.ts";
import { type ControlDetails, controlOf, controlType, isOwnCustomType } from "../log/marks.ts";
import type { ReminderFacts } from "../prompts.ts";
import { recentItems } from "./bootstrap.ts";

/** What a control message says of the window it belongs to. */
export function reminderFacts(branch: BranchIndex, remainingTokens?: number): ReminderFacts {
  return { windowId: branch.current.id, remainingTokens, items: recentItems(branch) };
}

export function controlMessage(details: ControlDetails, content: string): HostMessage {
  return { customType: controlType(details.kind), content, display: false, details };
}

/** What this window still asks of the model. A continuation asks for nothing. */
export function requestsOfWindow(branch: BranchIndex, cancelled: ReadonlySet<string>): readonly string[] {
  const asked: string[] = [];
  for (let i = branch.current.firstRow; i < branch.rows.length; i++) {
    const entry = branch.rows[i]?.entry;
    const control = entry && controlOf(entry.type === "message" ? (entry.message ?? {}) : entry);
    if (control && control.kind !== "continuation" && !cancelled.has(control.requestId)) asked.push(control.requestId);
  }
  return asked;
}

/** A request without anything that asks the model for something; the same messages when there is nothing of it. */
export function withoutRequests(messages: readonly LogMessage[]): readonly LogMessage[] {
  const isRequest = (message: LogMessage) => (controlOf(message)?.kind ?? "continuation") !== "continuation";
  return messages.some(isRequest) ? messages.filter((message) => !isRequest(message)) : messages;
}

/** Decides which of our own messages a request still shows, and what goes with those that it does not. */
export class ControlFilter {
  readonly #windowId: string;
  readonly #cancelled: ReadonlySet<string>;
  readonly #shown = new Set<string>();
  #answersNothing = false;

  constructor(windowId: string, cancelled: ReadonlySet<string>) {
    this.#windowId = windowId;
    this.#cancelled = cancelled;
  }

  /**
   * A turn asked for by a message that was taken back goes with it where it would stand directly behind another answer.
   * `behind` is the role of the newest message that is shown.
   */
  shows(message: LogMessage, behind: string | undefined): boolean {
    if (message.role === "assistant" || message.role === "toolResult") return !this.#answersNothing;
    this.#answersNothing = behind === "assistant" && this.#isTakenBack(message);
    return this.#showsRequest(message);
  }

  #isTakenBack(message: LogMessage): boolean {
    const control = controlOf(message);
    return control?.kind === "manual_checkpoint" && this.#cancelled.has(control.requestId);
  }

  /** Not of another window, not taken back, and not the second reminder or fallback of its window. */
  #showsRequest(message: LogMessage): boolean {
    if (message.role !== "custom" || !isOwnCustomType(message.customType)) return true;
    const control = controlOf(message);
    if (control?.windowId !== this.#windowId || this.#cancelled.has(control.requestId)) return false;
    if (control.kind !== "reminder" && control.kind !== "fallback") return true;
    const isRepeated = this.#shown.has(control.kind);
    this.#shown.add(control.kind);
    return !isRepeated;
  }
}
