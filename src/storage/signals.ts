// What a process does when a signal is about to end it. A listener of ours takes the signal's default away, so it must either see
// to the end of the process itself or give the signal back.

/** `session`: it closes what runs, and the process ends by that. `group`: it ends other processes, with this one. */
type Kind = "session" | "group";
type Listener = (signal: NodeJS.Signals) => void;

/** One name for every copy of this package in a process. */
const KIND = Symbol.for("pi-token-budget.signals");

function kindOf(listener: object): unknown {
  return (listener as { readonly [KIND]?: unknown })[KIND];
}

/** How many listeners the library signal-exit has for a signal, in its two forms: they act only where nobody else listens. */
function waitingListeners(): number {
  const { __signal_exit_emitter__: old, [Symbol.for("signal-exit emitter")]: now } = process as unknown as Record<
    string | symbol,
    { readonly count?: unknown } | undefined
  >;
  return Number(old?.count ?? 0) + Number(now?.count ?? 0);
}

/** Whether somebody but listeners of these kinds decides what a signal does. */
function othersDecide(signal: NodeJS.Signals, kinds: readonly Kind[]): boolean {
  const listeners = process.listeners(signal);
  const ours = listeners.filter((each) => kinds.some((kind) => kind === kindOf(each))).length;
  return listeners.length > ours + waitingListeners();
}

function listen(signals: readonly NodeJS.Signals[], kind: Kind, act: Listener): () => void {
  const listener = Object.assign((signal: NodeJS.Signals) => act(signal), { [KIND]: kind });
  const stop = () => {
    for (const signal of signals) process.off(signal, listener);
  };
  for (const signal of signals) process.on(signal, listener);
  return stop;
}

/** The signal does what it does without us, once the last listener of ours has let it go. */
function giveBack(signal: NodeJS.Signals): void {
  if (!process.listeners(signal).some((each) => kindOf(each) !== undefined)) process.kill(process.pid, signal);
}

/** Calls `end` before one of these signals ends the process, unless somebody else decides what it does. Returns how to stop. */
export function beforeEndBy(signals: readonly NodeJS.Signals[], end: () => void): () => void {
  const stop = listen(signals, "group", (signal) => {
    if (othersDecide(signal, ["group"])) return;
    end();
    stop();
    giveBack(signal);
  });
  return stop;
}

/** Of a process that was ended by SIGINT, as shells have it. */
const INTERRUPTED_CODE = 130;

/**
 * While something runs, SIGINT ends the process as SIGTERM does, to which the program listens and closes; the second one ends
 * it at once. Where the program does not, or nothing runs, it does what it does without us. Returns how to stop.
 */
export function interruptsAsTerm(isBusy: () => boolean): () => void {
  let isEnding = false;
  const stop = listen(["SIGINT"], "session", (signal) => {
    if (othersDecide(signal, ["session", "group"])) return;
    if (isEnding) process.exit(INTERRUPTED_CODE);
    if (isBusy() && othersDecide("SIGTERM", ["session", "group"])) {
      isEnding = true;
      process.once("exit", () => {
        process.exitCode = INTERRUPTED_CODE;
      });
      process.emit("SIGTERM", "SIGTERM");
      return;
    }
    stop();
    giveBack(signal);
  });
  return stop;
}
