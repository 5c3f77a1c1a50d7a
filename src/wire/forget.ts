// `/token-budget forget`: removes what a session has left beside the host's own file. It asks first, and never touches what is
// open: this session's data is removed when it ends, another one's only when no process runs any agent of it.

import { localTime } from "../figures.ts";
import type { HostContext } from "../host/api.ts";
import { hasScreen } from "../host/context.ts";
import type { Session } from "../session/session.ts";
import { lastWritten, removeTask, taskNamed, tasksIn } from "../task/forget.ts";
import { answerTo, isConfirmed } from "../ui/ask.ts";
import type { Choice } from "../ui/commands.ts";

const WHAT = "Its notes, its journal (a copy of its transcript), its tasks with their files, and those of its children";

/** What ends a session, in case the person did not think of it. */
const ENDS = "when you quit, and with /new, /resume or /fork, which go to another session";

const TAKEN_BACK = "/token-budget keep takes it back until then.";

const ANSWERS = { no: "No, keep it all", yes: "Yes, remove it" };

/** How many sessions completion offers; any other is forgotten by its id too. */
const OFFERED_MAX = 50;

export async function forget(session: Session, wanted: string, agentDir: string, ctx: HostContext): Promise<string> {
  if (!hasScreen(ctx)) return "Nothing was removed: this asks first, and there is no one to ask here.";
  const { task } = session;
  const { storageRoot } = task.context;
  if (wanted === "") return forgetThis(session, ctx);
  const context = taskNamed(storageRoot, wanted, {});
  if (context.runId === task.context.runId) return forgetThis(session, ctx);
  const detail = `${WHAT} are removed from ${storageRoot}, for good. Pi's own session file stays.`;
  if (!(await isConfirmed(ctx, { title: `Forget session ${context.runId}?`, detail, ...ANSWERS })))
    return "Nothing was removed.";
  await removeTask(context, { agentDir });
  return `What session ${context.runId} had left in ${storageRoot} is removed. Pi's own session file stays.`;
}

async function forgetThis(session: Session, ctx: HostContext): Promise<string> {
  const { task } = session;
  if (task.parent !== null) {
    return `This session is ${task.agent} of another one's task: forget that one, ${task.context.runId}, when it has ended.`;
  }
  if (task.isEphemeral) return "This session has no file: what it writes goes when it ends anyway.";
  if (session.forgetting.isAsked()) return forgetAgain(session, ctx);
  const other = task.presence.otherProcess();
  if (other !== undefined)
    return `Nothing will be removed: another Pi, process ${other}, has this session open too. End that one first, then ask again.`;
  const detail = `${WHAT} are removed from ${task.context.storageRoot} when it ends, for good: ${ENDS}. ${TAKEN_BACK} Pi's own session file stays.`;
  if (!(await isConfirmed(ctx, { title: "Forget this session when it ends?", detail, ...ANSWERS })))
    return "Nothing will be removed.";
  session.forgetting.ask();
  return `What this session leaves goes when it ends (${ENDS}), unless a child of it or another Pi still runs it then. ${TAKEN_BACK} Pi's own session file stays.`;
}

/** A second call says what was asked for, and offers to take it back. */
async function forgetAgain(session: Session, ctx: HostContext): Promise<string> {
  const title = "What this session leaves is removed when it ends. Keep it after all?";
  const answer = await answerTo(ctx, {
    title,
    detail: `It ends ${ENDS}.`,
    no: "Keep it all",
    yes: "Remove it, as asked",
  });
  return answer === "no" ? keep(session) : `It is still removed when the session ends: ${ENDS}. ${TAKEN_BACK}`;
}

/** Takes back the removal at the end of this session. */
export function keep(session: Session): string {
  if (!session.forgetting.isAsked()) return "Nothing was to be removed at the end of this session.";
  session.forgetting.takeBack();
  return "Nothing is removed: what this session leaves stays.";
}

/** The sessions that have left something here, by what was typed. */
export function forgettable({ task }: Session, typed: string): readonly Choice[] {
  const word = "forget ";
  if (!typed.startsWith(word)) return [];
  const { storageRoot, runId } = task.context;
  const ids = tasksIn(storageRoot, {}).filter((id) => id !== runId && id.startsWith(typed.slice(word.length)));
  return ids.slice(0, OFFERED_MAX).map((id) => {
    const written = lastWritten(storageRoot, id);
    return { value: `${word}${id}`, about: written === undefined ? undefined : `last written ${localTime(written)}` };
  });
}
