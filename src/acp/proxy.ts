// Between client and bridge: every byte passes in both directions as it came, and plans go to the client between whole
// lines of the bridge. Decides nothing: plans.ts says what is due.
import type { ChildProcess } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { insistOnEnd } from "./bridge.ts";
import { insertAfterLines, LineReader } from "./lines.ts";
import { Plans } from "./plans.ts";
import { type PlanPush, parseObject } from "./wire.ts";

export interface ClientStreams {
  readonly input: Readable;
  readonly output: Writable;
}

export interface Relay {
  /** Shows the session's plan as soon as that may be. */
  push(push: PlanPush): void;
  /** Resolves when the client has been given everything, or is gone. */
  flushed(): Promise<void>;
}

export function connectStreams(
  { stdin, stdout, child }: { stdin: Writable; stdout: Readable; child: ChildProcess },
  { input, output }: ClientStreams,
  { onOtherVersion, onUnheard }: { readonly onOtherVersion: () => void; readonly onUnheard: () => void },
): Relay {
  const plans = new Plans();
  const fromBridge = new LineReader();
  let clientIsGone = false;

  const showDue = () => {
    // A client that does not read gets the newest plan when it does again.
    if (clientIsGone || fromBridge.isInLine || output.writableNeedDrain) return;
    for (const line of plans.take()) output.write(line);
  };
  readClient(input, stdin, plans, showDue);

  let toldOfVersion = false;
  let toldOfSilence = false;
  stdout.on("data", (chunk: Buffer) => {
    const pieces = insertAfterLines(fromBridge, chunk, (text) => {
      if (plans.awaitsResponse) plans.bridgeSent(parseObject(text()));
      return plans.take();
    });
    if (plans.isOtherVersion && !toldOfVersion) {
      toldOfVersion = true;
      onOtherVersion();
    }
    if (plans.isUnheard && !toldOfSilence) {
      toldOfSilence = true;
      onUnheard();
    }
    if (clientIsGone) return;
    output.cork();
    for (const piece of pieces) output.write(piece);
    output.uncork();
    if (output.writableNeedDrain) stdout.pause();
  });
  output.on("drain", () => {
    stdout.resume();
    showDue();
  });

  const end = () => {
    stdin.end();
    insistOnEnd(child, false);
  };
  output.on("error", () => {
    clientIsGone = true;
    // The bridge is not held up on its way out.
    stdout.resume();
    end();
  });
  input.once("close", end);
  input.once("end", end);

  return {
    push: (push) => {
      plans.pushed(push);
      showDue();
    },
    flushed: () =>
      new Promise((resolve) => {
        if (clientIsGone) return resolve();
        output.once("error", () => resolve());
        output.write("", () => resolve());
      }),
  };
}

/** Passes the client's bytes on; the lines are only looked at. */
function readClient(input: Readable, stdin: Writable, plans: Plans, showDue: () => void): void {
  const fromClient = new LineReader();
  input.on("data", (chunk: Buffer) => {
    fromClient.read(chunk, (text) => plans.clientSent(parseObject(text())));
    showDue();
  });
  input.on("error", () => undefined);
  // A bridge that takes no more input may still have something to say, and the client's end must still be seen.
  stdin.on("error", () => input.resume());
  stdin.on("close", () => input.resume());
  input.pipe(stdin);
}
