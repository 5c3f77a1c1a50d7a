// Control messages: what the model is asked for, in the form in which it is written on the log.
import type { HostMessage } from "../host/api.ts";
import type { LogMessage } from "../host/entries.ts";
import type { BranchIndex } from "../log/branch.ts";
import { type ControlDetails, controlOf, controlType } from "../log/marks.ts";
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
