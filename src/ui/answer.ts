// The answer of a command: laid out for the terminal that shows it, unchanged where there is none.
import type { HostContext } from "../host/api.ts";
import type { StandingAnswer } from "../host/standing-answer.ts";
import { terminalColumns } from "../host/widget.ts";
import { laidOut } from "./columns.ts";

/** Hosts leave one column free on each side. */
const MARGIN_COLUMNS = 2;

/** The width of an answer in this session's terminal; undefined where there is none. */
export function answerColumns(ctx: HostContext): number | undefined {
  const columns = terminalColumns(ctx);
  return columns === undefined ? undefined : Math.max(1, columns - MARGIN_COLUMNS);
}

/** A text of ours laid out for this session's terminal. */
export function laidOutFor(ctx: HostContext, text: string): string {
  const columns = answerColumns(ctx);
  return columns === undefined ? text : laidOut(text, columns);
}

export interface Answers {
  /** Shows the answer to a command. */
  readonly show: (ctx: HostContext, text: string) => void;
  /** Tells what nobody asked for now, in the place of what it makes old. */
  readonly tell: (ctx: HostContext, text: string, insteadOf?: string) => void;
}

export function answersOn(standing: StandingAnswer): Answers {
  return {
    show: (ctx, text) => standing.show(ctx, laidOutFor(ctx, text)),
    tell: (ctx, text, insteadOf) =>
      standing.tell(ctx, laidOutFor(ctx, text), insteadOf === undefined ? undefined : laidOutFor(ctx, insteadOf)),
  };
}
