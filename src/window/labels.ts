// Which entries are called after windows in the host's tree: where each window starts, as far as the tree shows it. Pure.
import type { BranchIndex, WindowRecord } from "../log/branch.ts";

export interface WindowLabel {
  readonly entryId: string;
  readonly label: string;
}

/** A data entry is not shown: what is first done or said behind it is. */
function startOf(branch: BranchIndex, window: WindowRecord): string | undefined {
  const { opener, openerEntryId } = window;
  if (opener?.type !== "entry") return openerEntryId;
  const { from, to } = branch.rowRange(window);
  for (let at = from; at < to; at++) {
    const row = branch.rows[at];
    const isShown = row?.entry.type !== "custom" && (row?.head.role === "user" || row?.head.role === "tool");
    if (row && isShown) return row.entry.id;
  }
  return undefined;
}

/** Names the starts of windows once each: a label that was given or taken away on the branch stays so. */
export class WindowLabels {
  /** The starts that have been looked at. */
  readonly #seen = new Set<string>();

  /** What is to be labelled now, the oldest first. Looks at what is new since it was asked last. */
  due(branch: BranchIndex): readonly WindowLabel[] {
    const due: WindowLabel[] = [];
    for (let number = branch.windows.length; number > 1; number--) {
      const window = branch.windows[number - 1] as WindowRecord;
      const entryId = startOf(branch, window);
      if (entryId === undefined) continue;
      if (this.#seen.has(entryId)) break;
      this.#seen.add(entryId);
      if (!branch.wasLabelled(entryId)) due.push({ entryId, label: window.id });
    }
    return due.reverse();
  }
}
