// The own agent's history: the live branch as an item source. Abandoned branches are read through an index of their own,
// made when one is asked for.
import type { EntrySource } from "../host/entries.ts";
import { BranchIndex } from "../log/branch.ts";
import { ownText } from "../log/item.ts";
import type { ItemSource } from "./source.ts";

/** The live branch as of now. `refresh` brings the index up to the log before anything is read. */
export function liveSource(agent: string, branch: BranchIndex, entries: EntrySource): ItemSource {
  return {
    agent,
    get rows() {
      return branch.rows;
    },
    get windows() {
      return branch.windows;
    },
    rowRange: (window) => branch.rowRange(window),
    row: (id) => branch.row(id),
    rowIndex: (id) => branch.rowIndex(id),
    text: (entry) => branch.text(entry),
    // Most items are one text block, whose string is looked through where it lies.
    sieve: ({ text, maySplitPair }) => {
      if (maySplitPair) return () => undefined;
      const { rows } = branch;
      return (at) => {
        const row = rows[at];
        if (row?.own === undefined && row) row.own = ownText(row.entry) ?? null;
        return row?.own?.includes(text);
      };
    },
    rowElsewhere: (id) => {
      if (!entries.entry(id)) return undefined;
      // Its window is counted along its own branch up to it.
      const own = new BranchIndex();
      own.catchUp({ leafId: () => id, entry: (other) => entries.entry(other) });
      return own.row(id);
    },
  };
}
