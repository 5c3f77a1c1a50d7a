// The answer of /windows: the windows of a session with their counts and first request. Pure over an item source.

import { shownValue } from "../errors.ts";
import { counted, grouped, localTime } from "../figures.ts";
import type { HistoryReader } from "../history/reader.ts";
import type { ItemSource } from "../history/source.ts";
import { type WindowRecord, windowNumber } from "../log/branch.ts";
import { isWithoutNote } from "../log/marks.ts";
import { headOf, oneLine, shorten } from "../storage/text.ts";
import type { Choice } from "./commands.ts";
import { safeText } from "./text.ts";

const WINDOWS_MAX = 30;
const REQUEST_CODE_POINTS = 80;

interface Asked {
  readonly items: number;
  readonly count: number;
  readonly first: string | undefined;
}

/** All items of a window, its requests, and the beginning of the first. */
function asked(source: ItemSource, window: WindowRecord): Asked {
  const { from, to } = source.rowRange(window);
  let count = 0;
  let first: string | undefined;
  for (let at = from; at < to; at++) {
    const row = source.rows.at(at);
    if (!row?.head.fromUser) continue;
    count++;
    if (first !== undefined) continue;
    const text = headOf(source.text(row).points.text, REQUEST_CODE_POINTS * 4);
    first = shorten(oneLine(safeText(text)), REQUEST_CODE_POINTS).toWellFormed();
  }
  return { items: to - from, count, first };
}

/** The windows as an argument may name them, the newest first. */
export function windowChoices(source: ItemSource, prefix: string): readonly Choice[] {
  const ids = source.windows.map(({ id }) => id).reverse();
  return ids.filter((id) => id.startsWith(prefix)).map((value) => ({ value }));
}

/** `w3`, also as `W3` or `3`. */
function numberOf(argument: string): number | undefined {
  const id = argument.toLowerCase();
  return windowNumber(id.startsWith("w") ? id : `w${id}`);
}

/** From the window that the argument names on; the newest without one. */
export function windowsText(reader: HistoryReader, source: ItemSource, argument: string): string {
  const all = source.windows.length;
  const number = argument === "" ? Math.max(1, all - WINDOWS_MAX + 1) : numberOf(argument);
  if (number === undefined || number > all) {
    const there = all === 1 ? "there is only w1" : `there are w1 to w${all}`;
    return `There is no window ${shownValue(argument)}: ${there}. /windows lists them.`;
  }
  const { rows } = reader.listWindows(source, { limit: all, recentFirst: false });
  const shown = rows.slice(number - 1, number - 1 + WINDOWS_MAX);
  const width = Math.max(...shown.map(({ window }) => window.id.length));
  const lines = shown.map(({ window, items: listed, startedAt, current }) => {
    const { items, count, first } = asked(source, window);
    const started = startedAt === null ? "" : `  ${localTime(startedAt)}`;
    const note = window.opener && isWithoutNote(window.opener) ? ", opened without a note" : "";
    // Lists for the model leave these out unless it asks for them; a person should know that they exist.
    const own = items === listed ? "" : ` (${grouped(items - listed)} of them this package's own)`;
    const counts = `${counted(items, "item")}${own}, ${counted(count, "request")}${note}`;
    return `${window.id.padEnd(width)}${current ? " *" : "  "}${started}  ${counts}${first ? `  ${first}` : ""}`;
  });
  const before = number - 1;
  const after = all - before - shown.length;
  return [
    ...(before === 0 ? [] : [`… ${counted(before, "older window")}: /windows w1`]),
    ...lines,
    ...(after === 0 ? [] : [`… ${counted(after, "newer window")}: /windows w${number + shown.length}`]),
  ].join("\n");
}
