// The streams between client and bridge: every byte passes unchanged in both directions, and plans are inserted between
// whole lines of the bridge. Decides nothing: plans.ts does.
import type { ChildProcess } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { LineReader, type LineText, parseObject } from "../json-lines.ts";
import { insistOnEnd } from "./bridge.ts";
import { Plans } from "./plans.ts";
import type { PlanPush } from "./wire.ts";

export interface ClientStreams {
  readonly input: Readable;
  readonly output: Writable;
}

export interface Relay {
  /** Shows the session's plan as soon as possible. */
  push(push: PlanPush): void;
  /** Resolves when the client has received everything, or is gone. */
  flushed(): Promise<void>;
}

export function connectStreams(
  { stdin, stdout, child }: { stdin: Writable; stdout: Readable; child: ChildProcess },
  { input, output }: ClientStreams,
  { onOtherVersion, onSilent }: { readonly onOtherVersion: () => void; readonly onSilent: () => void },
): Relay {
  const plans = new Plans();
  const fromBridge = new LineReader();
  let clientIsGone = false;

  const showDue = () => {
    // A client that stops reading gets the newest plan when it resumes.
    if (clientIsGone || fromBridge.isInLine || output.writableNeedDrain) return;
    for (const line of plans.take()) output.write(line);
  };
  readClient(input, stdin, plans, showDue);

  const reported = new Set<() => void>();
  const reportOnce = (report: () => void) => {
    if (!reported.has(report)) report();
    reported.add(report);
  };
  stdout.on("data", (chunk: Buffer) => {
    const pieces = insertAfterLines(fromBridge, chunk, (text) => {
      if (plans.awaitsResponse) plans.bridgeSent(parseObject(text()));
      return plans.take();
    });
    if (plans.isOtherVersion) reportOnce(onOtherVersion);
    if (plans.isSilent) reportOnce(onSilent);
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
    // Do not block the bridge's remaining output.
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

/** Forwards the client's bytes and reads its lines. */
function readClient(input: Readable, stdin: Writable, plans: Plans, showDue: () => void): void {
  const fromClient = new LineReader();
  input.on("data", (chunk: Buffer) => {
    fromClient.read(chunk, (text) => plans.clientSent(parseObject(text())));
    showDue();
  });
  input.on("error", () => undefined);
  // A bridge that takes no more input may still write output, and the client's end must still be noticed.
  stdin.on("error", () => input.resume());
  stdin.on("close", () => input.resume());
  input.pipe(stdin);
}

/** The chunk in pieces to write in order: its own bytes, and after each line the lines that `after` returns for it. */
export function insertAfterLines(
  reader: LineReader,
  chunk: Buffer,
  after: (text: LineText) => readonly string[],
): readonly (Buffer | string)[] {
  const pieces: (Buffer | string)[] = [];
  let written = 0;
  reader.read(chunk, (text, end) => {
    const lines = after(text);
    if (lines.length === 0) return;
    pieces.push(chunk.subarray(written, end), ...lines);
    written = end;
  });
  if (written < chunk.length) pieces.push(chunk.subarray(written));
  return pieces;
}
