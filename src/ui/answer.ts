// The answer of a command: laid out for the terminal that shows it, unchanged where there is none.
import type { HostContext } from "../host/api.ts";
import { notify } from "../host/context.ts";
import { terminalColumns } from "../host/widget.ts";
import { laidOut } from "./columns.ts";

/** Hosts leave one column free on each side. */
const MARGIN_COLUMNS = 2;

/** A text of ours laid out for this session's terminal. */
export function laidOutFor(ctx: HostContext, text: string): string {
  const columns = terminalColumns(ctx);
  return columns === undefined ? text : laidOut(text, columns - MARGIN_COLUMNS);
}

export function showAnswer(ctx: HostContext, text: string): void {
  notify(ctx, laidOutFor(ctx, text), "info");
}
