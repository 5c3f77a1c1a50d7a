// The footer line: drawn after whatever may have changed it, and only when it has changed.
import type { HostContext } from "../host/api.ts";
import type { Host } from "../host/host.ts";
import { windowSize } from "../host/models.ts";
import { showStatus } from "../host/status.ts";
import { hasTerminal } from "../host/widget.ts";
import { isWithoutNote } from "../log/marks.ts";
import type { Session } from "../session/session.ts";
import { statusText } from "../ui/status.ts";
import type { Sessions } from "./sessions.ts";

/** The key of the footer line. */
export const STATUS_KEY = "pi-token-budget";

/** How often it is checked: other processes start and end children, and hosts report some changes late or not at all. */
const STATUS_LOOK_MS = 500;

function categoryOf(session: Session): string | undefined {
  try {
    return session.category() ?? undefined;
  } catch {
    return "category unknown";
  }
}

function statusOf(session: Session, tasks: number): string | undefined {
  const { branch, live, windows, aside, access } = session;
  const { id, opener } = branch.current;
  const ctx = session.context();
  return statusText({
    windowId: id,
    phase: session.phase(),
    contextWindow: windowSize(ctx),
    usedTokens: windows.watch.used(),
    isIdle: ctx.isIdle() && live.state.live.manual === undefined,
    isWithoutNote: opener !== undefined && isWithoutNote(opener),
    aside: aside.reason?.short,
    isOpenElsewhere: session.otherProcess.isThere,
    goesAtEnd: session.forgetting.isAsked(),
    children: access.children().length,
    tasks,
    category: categoryOf(session),
  });
}

export function footerSteps(host: Host, sessions: Sessions, tasks: () => readonly unknown[]) {
  let drawn: string | undefined;
  let looking: NodeJS.Timeout | undefined;
  const redraw = (ctx: HostContext) => {
    if (!ctx.hasUI) return;
    const text = statusOf(sessions.of(ctx), tasks().length);
    if (text !== drawn) showStatus(ctx, STATUS_KEY, text);
    drawn = text;
  };
  const look = () => {
    try {
      const { running } = sessions;
      running.watchProcesses();
      redraw(running.context());
    } catch {
      // The session is gone, or cannot be read now.
    }
  };
  return {
    /** Draws the footer once all other steps of the start have run. */
    sessionStarted: (_event: object, ctx: HostContext) => {
      host.notices.release();
      // The host has emptied its footer.
      drawn = undefined;
      clearInterval(looking);
      looking = hasTerminal(ctx) ? setInterval(look, STATUS_LOOK_MS) : undefined;
      looking?.unref();
      redraw(ctx);
    },
    close: () => clearInterval(looking),
    draw: (_event: object, ctx: HostContext) => redraw(ctx),
    redraw,
  };
}
