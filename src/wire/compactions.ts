// Compactions: those of the host become windows, and `/context` opens one by hand.
import type { HostContext } from "../host/api.ts";
import { hasScreen, notify } from "../host/context.ts";
import type { Host } from "../host/host.ts";
import { offerLine, TypedInstructions } from "../host/typed.ts";
import { forkCommand } from "../packages/host.ts";
import type { Session } from "../session/session.ts";
import { isConfirmed } from "../ui/ask.ts";
import type { OpenedByHand, StartControlTurn } from "../window/compactions.ts";
import { becauseOf } from "../window/notices.ts";
import type { Sessions } from "./sessions.ts";

/** How a control turn that waits inside a compaction hook is run. */
function controlTurn(host: Host, ctx: HostContext): StartControlTurn {
  return (start) => ({ start, end: host.turnEnd(ctx), abort: () => ctx.abort() });
}

export function compactionSteps(host: Host, sessions: Sessions) {
  const typed = new TypedInstructions();
  return {
    listenToEditor: (_event: object, ctx: HostContext) => typed.listen(ctx),
    close: () => typed.stop(),
    start: host.compacting(async (compaction, ctx) => {
      // Without a session the host's own compaction runs.
      const session = sessions.tryOf(ctx);
      void session?.journal.sync();
      if (!session) return undefined;
      const { compactions, loop } = session.windows;
      const isOn = session.enabled();
      const answer = await compactions.start(compaction, controlTurn(host, ctx));
      if (!isOn) return answer;
      if (answer?.cancel) host.runs.repeat(ctx, loop.takeUnwritten());
      session.publish();
      return answer;
    }),
    ended: (_event: object, ctx: HostContext) => {
      const session = sessions.of(ctx);
      const { compactions, loop } = session.windows;
      // A manual compaction that stopped a running turn lets the work be resumed, unless another extension will.
      const resumes = compactions.ended(true);
      const unwritten = loop.takeUnwritten();
      host.runs.repeat(ctx, unwritten);
      if (resumes && unwritten.length === 0) host.runs.whenIdle(ctx, () => compactions.continueRun());
      session.publish();
    },
    /** 0.73.1 lets a person walk the tree during it, 0.84.4 while no turn runs. */
    holdTree: (_event: object, ctx: HostContext) => {
      if (sessions.tryOf(ctx)?.windows.compactions.bindsBranch !== true) return undefined;
      notify(ctx, WALK_LATER_NOTICE, "warning");
      return { cancel: true } as const;
    },
    holdFork: host.cutFork((sessionFile, ctx) => {
      if (sessions.tryOf(ctx) === undefined) return false;
      notify(ctx, cutForkNotice(sessionFile), "warning");
      return true;
    }),
    failed: host.compactionFailed((failure, ctx) => {
      const { compactions } = sessions.of(ctx).windows;
      const isOurs = compactions.consolidating;
      compactions.ended(false);
      if (failure.isRefusal && !isOurs) notify(ctx, shortSessionNotice(ctx, typed.take()), "info");
    }),
    /** 0.73.1 reports no failure: a run that starts means that the compaction is over, unless the compaction started it. */
    runStarted: (_event: object, ctx: HostContext) => {
      const { live, windows } = sessions.of(ctx);
      if (live.state.live.manual?.phase === "awaiting") return;
      windows.compactions.ended(false);
      host.runs.repeat(ctx, windows.loop.takeUnwritten());
    },
  };
}

const WALK_LATER_NOTICE =
  "pi-token-budget: the next window is being opened. The tree can be walked when that is done; Escape ends it sooner.";

function cutForkNotice(sessionFile: string): string {
  return `pi-token-budget: this Pi's fork would lose everything before the last label of this session, so it was not made. In a shell, this copies the whole session, labels and all: ${forkCommand(sessionFile)}`;
}

const SHORT_SESSION_NOTICE = "pi-token-budget: /context new opens a fresh window in a session of any size";

/** Puts the instructions of a refused command into the editor, where that is possible, so that Enter sends them. */
function shortSessionNotice(ctx: HostContext, instructions: string | undefined): string {
  if (instructions === undefined)
    return `${SHORT_SESSION_NOTICE}, and takes the same instructions: /context new [instructions].`;
  const isOffered = offerLine(ctx, `/context new ${instructions}`);
  return `${SHORT_SESSION_NOTICE}${isOffered ? ". It is in the editor with your words: Enter sends it." : `: /context new ${instructions}`}`;
}

const WORKING = "The model is working. Press Escape first, then type /context new --without-note again.";

/** `/context new`: like `/compact`, it lets a run that it interrupts continue in the new window. */
export async function openWindow(
  host: Host,
  session: Session,
  ctx: HostContext,
  instructions: string | undefined,
): Promise<string> {
  const never = new AbortController().signal;
  const isInRun = !ctx.isIdle();
  const turn: StartControlTurn = (start) => ({ start, end: host.runEnd(ctx), abort: () => ctx.abort() });
  const opened = await session.windows.compactions.openByHand(instructions, never, turn);
  if (opened.type !== "opened") return openedText(session, opened);
  if (!isInRun) return openedText(session, opened, "the next message starts in it");
  if (session.coordination.owner !== undefined) return openedText(session, opened, "another extension goes on in it");
  host.runs.whenIdle(ctx, () => session.windows.compactions.continueRun());
  return openedText(session, opened, "the work goes on in it");
}

/** `/context new --without-note`: the way out of a window that the provider refuses. No request is made. */
export async function openWithoutNote(session: Session, ctx: HostContext): Promise<string> {
  if (!ctx.isIdle()) return WORKING;
  const question = `Nothing is noted for it. What ${session.branch.current.id} holds can be read back, and the model is told so.`;
  const choice = {
    title: "Open the next window without a note?",
    detail: question,
    no: "No, stay",
    yes: "Yes, open it",
  };
  if (hasScreen(ctx) && !(await isConfirmed(ctx, choice))) return "The window stays as it is.";
  if (!ctx.isIdle()) return WORKING;
  return openedText(
    session,
    session.windows.compactions.openWithoutNote(),
    "nothing was noted for it. The next message starts in it",
  );
}

function openedText({ branch }: Session, opened: OpenedByHand, goesOn = ""): string {
  switch (opened.type) {
    case "opened": {
      const why =
        opened.failed === undefined
          ? ""
          : ` The request for the checkpoint failed (${becauseOf(opened.failed)}), so it opened without a note; the model is told where to read.`;
      return `Window ${branch.current.id} is open; ${goesOn}.${why}`;
    }
    case "nothing_to_leave":
      return "This window holds nothing yet, so there is nothing to leave behind.";
    case "under_way":
      return "A checkpoint of this window is being saved already; the next one opens when it is saved.";
    case "no_checkpoint":
      return "No checkpoint was saved, so the window stays as it is. /context new --without-note opens the next one anyway.";
  }
}
