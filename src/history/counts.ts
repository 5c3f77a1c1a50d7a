// Running counts of a branch's listed items, so that a page of a long branch does not count the branch again.
// Derived from the rows alone and thrown away with them; never a second truth.
import type { Row, WindowRecord } from "../log/branch.ts";
import type { ItemHead, ItemRole } from "../log/item.ts";
import type { ItemSource, RowList } from "./source.ts";

/** Roles whose items are internal by nature: asking for the role is asking for them. */
export function isInternalRole(role: ItemRole | undefined): boolean {
  return role === "system" || role === "developer";
}

/** The listed items of one window. */
export interface WindowCount {
  readonly items: number;
  readonly first: Row | undefined;
  readonly last: Row | undefined;
}

interface CountedRange extends WindowCount {
  readonly from: number;
  readonly to: number;
}

function briefOf(rows: RowList, at: number): Pick<ItemHead, "role" | "internal"> | undefined {
  return rows.brief ? rows.brief(at) : rows.at(at)?.head;
}

class BranchCounts {
  readonly #byRole = new Map<ItemRole, number>();
  readonly #byWindow = new Map<number, CountedRange>();
  #counted = 0;
  #listed = 0;

  total(rows: RowList, role: ItemRole | undefined): number {
    this.#countUpTo(rows);
    return role === undefined ? this.#listed : (this.#byRole.get(role) ?? 0);
  }

  window(source: ItemSource, window: WindowRecord): WindowCount {
    const { from, to } = source.rowRange(window);
    const known = this.#byWindow.get(window.number);
    const kept = known && known.from === from && known.to <= to ? known : undefined;
    if (kept?.to === to) return kept;
    let items = kept?.items ?? 0;
    let first: number | undefined;
    let last: number | undefined;
    for (let at = kept?.to ?? from; at < to; at++) {
      if (briefOf(source.rows, at)?.internal ?? true) continue;
      items++;
      first ??= at;
      last = at;
    }
    const rowAt = (at: number | undefined) => (at === undefined ? undefined : source.rows.at(at));
    const counted = { from, to, items, first: kept?.first ?? rowAt(first), last: rowAt(last) ?? kept?.last };
    this.#byWindow.set(window.number, counted);
    return counted;
  }

  #countUpTo(rows: RowList): void {
    for (; this.#counted < rows.length; this.#counted++) {
      const brief = briefOf(rows, this.#counted);
      if (!brief) continue;
      const { role, internal } = brief;
      if (!internal) this.#listed++;
      else if (!isInternalRole(role)) continue;
      this.#byRole.set(role, (this.#byRole.get(role) ?? 0) + 1);
    }
  }
}

/** The counts of every branch that is read. A branch that was rebuilt has other rows and is counted again. */
export class HistoryCounts {
  readonly #branches = new WeakMap<RowList, BranchCounts>();

  /** Listed items of the whole branch, or those of one role. */
  total(source: ItemSource, role: ItemRole | undefined): number {
    return this.#of(source).total(source.rows, role);
  }

  window(source: ItemSource, window: WindowRecord): WindowCount {
    return this.#of(source).window(source, window);
  }

  #of(source: ItemSource): BranchCounts {
    const known = this.#branches.get(source.rows);
    if (known) return known;
    const counts = new BranchCounts();
    this.#branches.set(source.rows, counts);
    return counts;
  }
}
