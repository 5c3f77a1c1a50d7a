// Why the machine refuses a tool call, as the model reads it. Pure.
import * as prompts from "../prompts.ts";
import type { ToolRefusal } from "./machine.ts";

export interface RefusedCall {
  readonly tool: string;
  readonly windowId: string;
  /** What is wrong with its path as one of the agent's own notes; undefined when it is one, or the tool writes none. */
  readonly pathFault: string | undefined;
  /** Requests that the fence has been in, and the most that it may be in. */
  readonly requests: number;
  readonly fenceMaxRequests: number;
}

export function refusalReason(because: ToolRefusal, call: RefusedCall): string {
  const { tool, windowId, pathFault, requests, fenceMaxRequests } = call;
  switch (because) {
    case "window_closed":
      return prompts.windowClosedReason(tool, windowId);
    case "fence":
      return pathFault === undefined
        ? prompts.fenceReason(tool, windowId, requests, fenceMaxRequests)
        : prompts.notOwnNoteReason(tool, pathFault);
    case "blank":
      return prompts.blankCheckpointReason(tool);
    case "claim_taken":
      return prompts.claimTakenReason(tool);
    case "checkpoint_saved":
      return prompts.checkpointSavedReason(tool);
    case "nested":
      return prompts.nestedReason(tool);
  }
}
