// What /windows says: the windows of a session with their counts and first request. Pure over an item source.
import type { HistoryReader } from "../history/reader.ts";
import type { ItemSource } from "../history/source.ts";
import { type WindowRecord, windowNumber } from "../log/branch.ts";
import { headOf, oneLine, shorten } from "../storage/text.ts";
import { grouped, safeText } from "./text.ts";

const WINDOWS_MAX = 30;
const REQUEST_CODE_POINTS = 80;

interface Asked {
  readonly count: number;
  readonly first: string | undefined;
}

/** The requests of a window, and the beginning of the first. */
function asked(source: ItemSource, window: WindowRecord): Asked {
  const { from, to } = source.rowRange(window);
  let count = 0;
  let first: string | undefined;
  for (let at = from; at < to; at++) {
    const row = source.rows.at(at);
    if (!row?.head.fromUser) continue;
    count++;
    if (first !== undefined) continue;
    const text = headOf(source.text(row.entry).points.text, REQUEST_CODE_POINTS * 4);
    first = shorten(oneLine(safeText(text)), REQUEST_CODE_POINTS).toWellFormed();
  }
  return { count, first };
}

function plural(count: number, word: string): string {
  return `${grouped(count)} ${word}${count === 1 ? "" : "s"}`;
}

/** Undefined when `argument` names no window. */
export function windowsText(reader: HistoryReader, source: ItemSource, argument: string): string | undefined {
  const all = source.windows.length;
  const number = argument === "" ? Math.max(1, all - WINDOWS_MAX + 1) : windowNumber(argument);
  if (number === undefined) return undefined;
  if (number > all) return `There is no window ${argument}: the newest is w${all}. /windows lists them.`;
  const { rows } = reader.listWindows(source, { limit: all, recentFirst: false });
  const shown = rows.slice(number - 1, number - 1 + WINDOWS_MAX);
  const width = Math.max(...shown.map(({ window }) => window.id.length));
  const lines = shown.map(({ window, items, startedAt, current }) => {
    const { count, first } = asked(source, window);
    const started = startedAt === null ? "" : `  ${startedAt.slice(0, 16).replace("T", " ")}`;
    const counts = `${plural(items, "item")}, ${plural(count, "request")}`;
    return `${window.id.padEnd(width)}${current ? " *" : "  "}${started}  ${counts}${first ? `  ${first}` : ""}`;
  });
  const before = number - 1;
  const after = all - before - shown.length;
  return [
    ...(before === 0 ? [] : [`… ${plural(before, "older window")}: /windows w1`]),
    ...lines,
    ...(after === 0 ? [] : [`… ${plural(after, "newer window")}: /windows w${number + shown.length}`]),
  ].join("\n");
}
