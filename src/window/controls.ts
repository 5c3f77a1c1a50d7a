// Control messages: what the model is asked for, in the form in which it is written on the log.
import type { HostMessage } from "../host/api.ts";
import type { BranchIndex } from "../log/branch.ts";
import { type ControlDetails, controlType } from "../log/marks.ts";
import type { ReminderFacts } from "../prompts.ts";
import { recentItems } from "./bootstrap.ts";

/** What a control message says of the window it belongs to. */
export function reminderFacts(branch: BranchIndex, remainingTokens?: number): ReminderFacts {
  return { windowId: branch.current.id, remainingTokens, items: recentItems(branch) };
}

export function controlMessage(details: ControlDetails, content: string): HostMessage {
  return { customType: controlType(details.kind), content, display: false, details };
}
