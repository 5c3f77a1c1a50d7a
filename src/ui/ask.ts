// A question to a person who may answer in haste: the harmless answer comes first, where the cursor is. The hosts' own
// confirmation has its cursor on Yes.
import type { HostContext } from "../host/api.ts";
import { laidOutFor } from "./answer.ts";

export interface Question {
  readonly title: string;
  readonly detail: string;
  /** Changes nothing; Enter chooses it. */
  readonly no: string;
  readonly yes: string;
}

/** The person's choice; undefined when the question was dismissed. */
export async function answerTo(ctx: HostContext, question: Question): Promise<"no" | "yes" | undefined> {
  const { title, detail, no, yes } = question;
  const chosen = await ctx.ui.select(laidOutFor(ctx, `${title}\n${detail}`), [no, yes]);
  if (chosen === undefined) return undefined;
  return chosen === yes ? "yes" : "no";
}

/** Whether the person chose yes; dismissing the question is a no. */
export async function isConfirmed(ctx: HostContext, question: Question): Promise<boolean> {
  return (await answerTo(ctx, question)) === "yes";
}
