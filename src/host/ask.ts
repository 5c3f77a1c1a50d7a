// A question to a person who may answer in haste: the harmless answer stands first, where the cursor is. The hosts' own
// confirmation has its cursor on Yes.
import type { HostContext } from "./api.ts";

export interface Question {
  readonly title: string;
  readonly detail: string;
  /** Changes nothing; what Enter takes. */
  readonly no: string;
  readonly yes: string;
}

/** Whether the person chose yes; leaving the question is a no. */
export async function isConfirmed({ ui }: HostContext, { title, detail, no, yes }: Question): Promise<boolean> {
  return (await ui.select(`${title}\n${detail}`, [no, yes])) === yes;
}
