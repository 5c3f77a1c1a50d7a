// Consolidation: a host compaction that repeats the current bootstrap, so that the host lets go of closed windows. When it
// is due, and what it writes. Pure.
import type { CompactionAnswer } from "../host/api.ts";
import type { BranchIndex, Row } from "../log/branch.ts";
import type { ConsolidationDetails } from "../log/marks.ts";
import { unconsolidated } from "./facts.ts";
import { uniqueSummary } from "./openings.ts";
import { heldTokens } from "./usage.ts";

/** Windows and messages that the host may still hold of closed windows before they are dropped at a settled boundary. */
const UNCONSOLIDATED_WINDOWS_MAX = 2;
const UNCONSOLIDATED_MESSAGES_MAX = 5_000;

export interface ConsolidationLimits {
  /** Windows are off: then anything that is held of closed windows is too much. */
  readonly isOff: boolean;
  /** What the host keeps of a session when it compacts, in tokens. */
  readonly keepRecentTokens: number;
}

/** Whether the host holds so much of closed windows that they should be dropped now. */
export function isConsolidationDue(branch: BranchIndex, { isOff, keepRecentTokens }: ConsolidationLimits): boolean {
  const { windows, messages } = unconsolidated(branch);
  const isMuch = isOff || windows >= UNCONSOLIDATED_WINDOWS_MAX || messages >= UNCONSOLIDATED_MESSAGES_MAX;
  // The host refuses, and newer ones say so in red, when what it holds is little anyway.
  return windows > 0 && isMuch && heldTokens(branch, keepRecentTokens) > keepRecentTokens;
}

/** The rows of the current window that the host keeps: all but an opener that is an entry of its own. */
function keptRows(branch: BranchIndex): readonly Row[] {
  const { current, rows } = branch;
  return rows.slice(current.firstRow + (current.opener?.type === "tool_result" ? 0 : 1));
}

/** The current window's bootstrap once more; cancelled where there is none to repeat. */
export function consolidation(branch: BranchIndex, tokensBefore: number, now: number): CompactionAnswer {
  const { opener, id } = branch.current;
  if (!opener || opener.type === "foreign_compaction") return { cancel: true };
  const { bootstrap, bootstrapTimestamp } = opener.details;
  const details: ConsolidationDetails = { consolidates: id, bootstrap, bootstrapTimestamp };
  const firstKeptEntryId = keptRows(branch)[0]?.entry.id ?? `none-${now}`;
  const summary = uniqueSummary(bootstrap, `repeats ${id}`, now);
  return { compaction: { summary, firstKeptEntryId, tokensBefore, details } };
}
