// Compactions: those of the host become windows, and `/context` opens one by hand.
import type { HostContext } from "../host/api.ts";
import { type Host, hasScreen, notify } from "../host/host.ts";
import { offerLine, TypedInstructions } from "../host/typed.ts";
import type { SessionParts } from "../session.ts";
import { isConfirmed } from "../ui/ask.ts";
import type { OpenedByHand, StartControlTurn } from "../window/compactions.ts";
import { becauseOf } from "../window/notices.ts";
import type { CurrentSession } from "./current.ts";

/** How a control turn that waits inside a compaction hook is run. */
function controlTurn(host: Host, ctx: HostContext): StartControlTurn {
  return (start) => ({ start, end: host.turnEnd(ctx), abort: () => ctx.abort() });
}

export function wireCompactions(host: Host, session: CurrentSession): void {
  const typed = new TypedInstructions();
  host.on("session_start", (_event, ctx) => {
    typed.listen(ctx);
    return undefined;
  });
  host.on("session_shutdown", () => {
    typed.stop();
    return undefined;
  });
  host.onCompacting(async (compaction, ctx) => {
    // Without parts of the session nothing of ours stands in the way of the host's own compaction.
    const parts = session.tryOf(ctx);
    void parts?.access.sync();
    if (!parts) return undefined;
    const { windows, publish } = parts;
    const isOn = parts.enabled();
    const answer = await windows.compactions.start(compaction, controlTurn(host, ctx));
    if (!isOn) return answer;
    if (answer?.cancel) host.repeat(ctx, windows.loop.takeUnwritten());
    publish();
    return answer;
  });
  host.on("session_compact", (_event, ctx) => {
    const { windows, publish } = session.of(ctx);
    // A manual compaction that stopped a running turn lets the work go on, unless somebody else will.
    const resumes = windows.compactions.ended(true);
    const unwritten = windows.loop.takeUnwritten();
    host.repeat(ctx, unwritten);
    if (resumes && unwritten.length === 0) host.whenIdle(ctx, () => windows.compactions.continueRun());
    publish();
    return undefined;
  });
  // 0.73.1 lets a person walk the tree meanwhile, 0.84.4 while no turn runs.
  host.on("session_before_tree", (_event, ctx) => {
    if (session.tryOf(ctx)?.windows.compactions.bindsBranch !== true) return undefined;
    notify(ctx, WALK_LATER_NOTICE, "warning");
    return { cancel: true };
  });
  host.onCompactionFailed((failure, ctx) => {
    const { windows } = session.of(ctx);
    const isOurs = windows.compactions.consolidating;
    windows.compactions.ended(false);
    if (failure.isRefusal && !isOurs) notify(ctx, shortSessionNotice(ctx, typed.take()), "info");
  });
  // 0.73.1 tells of no failure: a run that starts says that the compaction is over, unless the compaction started it.
  host.on("agent_start", (_event, ctx) => {
    const { live, windows } = session.of(ctx);
    if (live.state.live.manual?.phase === "awaiting") return undefined;
    windows.compactions.ended(false);
    host.repeat(ctx, windows.loop.takeUnwritten());
    return undefined;
  });
}

const WALK_LATER_NOTICE =
  "pi-token-budget: the next window is being opened. The tree can be walked when that is done; Escape ends it sooner.";
const SHORT_SESSION_NOTICE = "pi-token-budget: /context new opens a fresh window in a session of any size";

/** What a person said behind the refused command is one key away, where the editor can take it. */
function shortSessionNotice(ctx: HostContext, instructions: string | undefined): string {
  if (instructions === undefined)
    return `${SHORT_SESSION_NOTICE}, and takes the same instructions: /context new [instructions].`;
  const isOffered = offerLine(ctx, `/context new ${instructions}`);
  return `${SHORT_SESSION_NOTICE}${isOffered ? ". It stands in the editor with your words: Enter sends it." : `: /context new ${instructions}`}`;
}

const WORKING = "The model is working. Press Escape first, then type /context new --without-note again.";

/** `/context new`: like `/compact`, it lets a run that it interrupts go on in the new window. */
export async function openWindow(
  host: Host,
  parts: SessionParts,
  ctx: HostContext,
  instructions: string | undefined,
): Promise<string> {
  const never = new AbortController().signal;
  const isInRun = !ctx.isIdle();
  const turn: StartControlTurn = (start) => ({ start, end: host.runEnd(ctx), abort: () => ctx.abort() });
  const opened = await parts.windows.compactions.openByHand(instructions, never, turn);
  if (opened.type !== "opened") return openedText(parts, opened);
  if (!isInRun) return openedText(parts, opened, "the next message starts in it");
  if (parts.coordination.owner !== undefined) return openedText(parts, opened, "another extension goes on in it");
  host.whenIdle(ctx, () => parts.windows.compactions.continueRun());
  return openedText(parts, opened, "the work goes on in it");
}

/** `/context new --without-note`: the way out of a window that the provider refuses. No request is made. */
export async function openWithoutNote(parts: SessionParts, ctx: HostContext): Promise<string> {
  if (!ctx.isIdle()) return WORKING;
  const question = `Nothing is noted for it. What ${parts.branch.current.id} holds can be read back, and the model is told so.`;
  const choice = {
    title: "Open the next window without a note?",
    detail: question,
    no: "No, stay",
    yes: "Yes, open it",
  };
  if (hasScreen(ctx) && !(await isConfirmed(ctx, choice))) return "The window stays as it is.";
  if (!ctx.isIdle()) return WORKING;
  return openedText(
    parts,
    parts.windows.compactions.openWithoutNote(),
    "nothing was noted for it. The next message starts in it",
  );
}

function openedText({ branch }: SessionParts, opened: OpenedByHand, goesOn = ""): string {
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
      return "No checkpoint was saved, so the window stays as it is. /context new --without-note opens the next one all the same.";
  }
}
