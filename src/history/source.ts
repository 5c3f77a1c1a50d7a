// Where items are read from: the live branch, or the journal of another agent. Readers and tools see only this.
import type { Row, WindowRecord } from "../log/branch.ts";
import type { ItemHead, ItemText } from "../log/item.ts";
import type { Needle } from "./search.ts";

/** Rows in order: an array, or a list that makes each row when it is asked for. */
export interface RowList extends Iterable<Row> {
  readonly length: number;
  at(row: number): Row | undefined;
  map<T>(each: (row: Row) => T): T[];
  /** What lists need of a row there is, where that takes less than making the row. */
  brief?(row: number): Pick<ItemHead, "role" | "internal">;
  /** Its calls, as well. */
  calls?(row: number): ItemHead["calls"];
}

/**
 * What can be said of rows in a search by their place, without rendering their text: surely a match that is never hidden,
 * surely none, or undefined: the text has to be looked at.
 */
export type Sieve = (row: number) => boolean | undefined;

export interface ItemSource {
  /** The address of the agent whose history this is. */
  readonly agent: string;
  /** All items of the branch, oldest first. */
  readonly rows: RowList;
  /** All windows of the branch, oldest first; never empty. */
  readonly windows: readonly WindowRecord[];
  /** The rows of a window as a half-open range. */
  rowRange(window: WindowRecord): { readonly from: number; readonly to: number };
  /** An item of the branch by its id. */
  row(id: string): Row | undefined;
  /** Its index among the rows. */
  rowIndex(id: string): number | undefined;
  /** The rendered text of an item, cached. */
  text(row: Row): ItemText;
  /** An item of an abandoned branch of the same session; its `window` is counted along its own branch. */
  rowElsewhere(id: string): Row | undefined;
  /** The same with pauses, where it goes through a branch of any length. */
  findingElsewhere?(id: string): Generator<void, Row | undefined>;
  /** A sieve for one search of many rows; left out where there is none. */
  sieve?(needle: Needle): Sieve;
}
