// When the own journal, from which other agents read, is brought up to the log.
import type { Sessions } from "./sessions.ts";

/**
 * Beside these events, each request, each compaction and the settled boundary bring it up to the log: after every message
 * of a running loop. Not at `message_end` itself: some hosts write the message only after it, and 0.73.1 prints an answer
 * before it continues after an overflow when a handler there takes its time. 0.73.1 tells of the end of a run when
 * `prompt()` has resolved, and the program may have disposed of the session by then: no context is asked for anything.
 */
export function journalSteps(sessions: Sessions) {
  return {
    sync: () => {
      void sessions.opened?.journal.sync();
    },
    // A turn goes to the disk once, with its results, beside the next request; a tool that runs is seen before that.
    show: () => {
      void sessions.opened?.journal.show();
    },
    ...exitSteps(sessions),
  };
}

/** From the start of a run until all of it is in the journal, a process that ends writes down what is missing. */
function exitSteps(sessions: Sessions) {
  let armed: (() => void) | undefined;
  let runs = 0;
  const disarm = () => {
    if (armed) onExit(armed, "off");
    armed = undefined;
  };
  return {
    runStarted: () => {
      const journal = sessions.opened?.journal;
      runs++;
      if (armed || !journal) return;
      armed = () => journal.syncNow();
      onExit(armed, "on");
    },
    runEnded: () => {
      const ended = runs;
      const journal = sessions.opened?.journal;
      void journal?.sync().then(() => {
        if (ended !== runs) return;
        journal.rest();
        disarm();
      });
    },
    close: disarm,
  };
}

/** Any number of sessions may run in one process, so each makes room for its own listener. */
function onExit(listener: () => void, how: "on" | "off"): void {
  if (how === "off") process.off("exit", listener);
  const limit = process.getMaxListeners();
  // No limit stays none.
  if (limit > 0) process.setMaxListeners(Math.max(1, limit + (how === "on" ? 1 : -1)));
  if (how === "on") process.on("exit", listener);
}
