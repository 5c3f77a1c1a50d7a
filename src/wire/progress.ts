// Shows long work of a session in the footer, with Escape to stop it. Quick work is never shown.
import type { HostContext } from "../host/api.ts";
import { notify } from "../host/context.ts";
import { onEscape, showStatus } from "../host/status.ts";
import type { Work } from "../storage/work.ts";
import { progressText } from "../ui/status.ts";

/** Work that takes longer than this is shown. */
const SHOWN_AFTER_MS = 500;
/** The key of its footer line, beside the one of the window. */
const PROGRESS_KEY = "pi-token-budget:work";

export interface WorkKind {
  /** What is being done, in a few words. */
  readonly label: string;
  /** Shown when a person has stopped it: what that means, and how to continue it. */
  readonly stopped: string;
}

export const JOURNAL_WORK: WorkKind = {
  label: "writing the history for other agents",
  stopped: "Stopped: other agents do not see the rest of this session's history. Reload or resume it to continue.",
};

export const NOTES_WORK: WorkKind = {
  label: "copying notes",
  stopped: "Stopped: the notes copied so far stay, the rest are left with the session this one was forked from.",
};

/** Work that is shown over the context of the newest event. */
export function shownWork({ label, stopped }: WorkKind, context: () => HostContext): Work {
  const controller = new AbortController();
  let begunMs: number | undefined;
  let unlisten: (() => void) | undefined;
  let shown: string | undefined;
  const end = () => {
    if (shown !== undefined) showStatus(context(), PROGRESS_KEY, undefined);
    unlisten?.();
    begunMs = undefined;
    unlisten = undefined;
    shown = undefined;
  };
  const stop = () => {
    controller.abort();
    end();
    notify(context(), `pi-token-budget: ${stopped}`, "info");
  };
  return {
    signal: controller.signal,
    report: (done, total) => {
      if (controller.signal.aborted) return;
      if (done >= total) return end();
      begunMs ??= performance.now();
      if (performance.now() - begunMs < SHOWN_AFTER_MS) return;
      const text = progressText(label, done, total);
      if (text !== shown) showStatus(context(), PROGRESS_KEY, text);
      shown = text;
      unlisten ??= onEscape(context(), stop);
    },
  };
}
