// The command `pi-token-budget-acp`: connects socket, bridge and streams, and forwards signals and the exit code.
import { messageOf } from "../errors.ts";
import { ownPackage } from "../packages/own.ts";
import { type BridgeCommand, type BridgeEnd, bridgeEnd, insistOnEnd, startBridge } from "./bridge.ts";
import { HELP, parseOptions } from "./options.ts";
import { openPlanSocket, type PlanSocket, sweepSockets } from "./plan-socket.ts";
import { connectStreams, type Relay } from "./proxy.ts";
import { ACP_SOCKET_VARIABLE, type PlanPush } from "./wire.ts";

const FORWARDED = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;
const WRONG_USAGE = 2;
const SIGNAL_EXIT_MS = 1_000;
/** Longer than a bridge may take to end after a signal. */
const GIVE_UP_MS = 7_000;

const NO_EXTENSION =
  "no plans so far: the first turn has ended and no extension has connected. Pi needs pi-token-budget (pi install npm:pi-token-budget) where the bridge starts it, without PI_TOKEN_BUDGET_DISABLED=1, and the bridge must pass its environment on.";

/** On standard error, since standard output belongs to the protocol. */
function say(text: string): void {
  process.stderr.write(`pi-token-budget-acp: ${text}\n`);
}

/** Without the socket there are no plans, and everything else works. */
async function tryOpenSocket(onPush: (push: PlanPush) => void): Promise<PlanSocket | undefined> {
  try {
    await sweepSockets();
    return await openPlanSocket({ onPush, onGarbage: say });
  } catch (error) {
    say(`no plans will be shown, the local socket cannot be opened: ${messageOf(error)}`);
    return undefined;
  }
}

/** For a person at a terminal, such as a bridge's login: there is no editor to show a plan to. */
function runAtTerminal(bridge: BridgeCommand): Promise<BridgeEnd> {
  const child = startBridge(bridge, { ...process.env, [ACP_SOCKET_VARIABLE]: undefined }, "inherit");
  // The terminal sends these to the bridge itself.
  for (const signal of ["SIGINT", "SIGQUIT"] as const) process.on(signal, () => undefined);
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
  return bridgeEnd(child, bridge.command);
}

async function runForClient(bridge: BridgeCommand): Promise<BridgeEnd> {
  let relay: Relay | undefined;
  const socket = await tryOpenSocket((push) => relay?.push(push));
  process.once("exit", () => socket?.close());
  // A socket in our own environment belongs to another proxy.
  const child = startBridge(bridge, { ...process.env, [ACP_SOCKET_VARIABLE]: socket?.path }, "pipe");
  process.once("exit", () => child.kill());
  for (const signal of FORWARDED) {
    process.on(signal, () => {
      child.kill(signal);
      insistOnEnd(child, true);
      setTimeout(() => {
        // The client neither reads nor disconnects.
        socket?.close();
        endLike({ type: "killed", signal });
      }, GIVE_UP_MS).unref();
    });
  }
  const ended = bridgeEnd(child, bridge.command);
  const { stdin, stdout } = child;
  if (stdin && stdout) {
    const onOtherVersion = () => say("no plans will be shown: client and bridge speak another version of the protocol");
    const onSilent = () => {
      if (socket) say(NO_EXTENSION);
    };
    const streams = { input: process.stdin, output: process.stdout };
    relay = connectStreams({ stdin, stdout, child }, streams, { onOtherVersion, onSilent });
  }
  const end = await ended;
  await relay?.flushed();
  socket?.close();
  return end;
}

/** Ends this process the way the bridge ended. */
function endLike(end: BridgeEnd): void {
  if (end.type === "not_started") say(end.problem);
  if (end.type !== "killed") process.exit(end.code);
  for (const signal of FORWARDED) process.removeAllListeners(signal);
  process.kill(process.pid, end.signal);
  // Not every signal that kills a bridge kills this process.
  setTimeout(() => process.exit(1), SIGNAL_EXIT_MS);
}

function run(bridge: BridgeCommand): Promise<BridgeEnd> {
  // Standard error may be closed already.
  process.stderr.on("error", () => undefined);
  return process.stdin.isTTY && process.stdout.isTTY ? runAtTerminal(bridge) : runForClient(bridge);
}

const options = parseOptions(process.argv.slice(2));
switch (options.type) {
  case "help":
    process.stdout.write(HELP);
    break;
  case "version":
    process.stdout.write(`${ownPackage()?.version ?? "unknown"}\n`);
    break;
  case "wrong":
    say(`${options.problem}. See --help.`);
    process.exitCode = WRONG_USAGE;
    break;
  case "run":
    endLike(await run(options.bridge));
}
