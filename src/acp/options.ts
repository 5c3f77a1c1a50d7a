// The command line of `pi-token-budget-acp`. Pure.
import type { BridgeCommand } from "./bridge.ts";
import { ACP_SOCKET_VARIABLE } from "./wire.ts";

const DEFAULT_BRIDGE = "pi-acp";

export type Options =
  | { readonly type: "help" }
  | { readonly type: "version" }
  | { readonly type: "run"; readonly bridge: BridgeCommand }
  | { readonly type: "wrong"; readonly problem: string };

/** Our own options come alone. Anything else is for the default bridge; what follows `--` is another bridge. */
export function parseOptions(args: readonly string[]): Options {
  const [first, ...rest] = args;
  if (first === "--help" || first === "-h") return { type: "help" };
  if (first === "--version" || first === "-v") return { type: "version" };
  if (first !== "--") return { type: "run", bridge: { command: DEFAULT_BRIDGE, args } };
  const [command, ...commandArgs] = rest;
  if (!command)
    return { type: "wrong", problem: "there is no command behind --; put the bridge there, or leave -- out" };
  return { type: "run", bridge: { command, args: commandArgs } };
}

export const HELP = `Usage: pi-token-budget-acp [arguments for ${DEFAULT_BRIDGE}]
       pi-token-budget-acp -- <bridge> [arguments]

Runs an ACP bridge (Agent Client Protocol, over standard input and output) and shows the todo list of its Pi session
to the editor as the plan. Everything else passes through as it is. Set it up in the editor in place of the bridge.

  --help, -h       this text
  --version, -v    the version

The Pi that the bridge starts needs the pi-token-budget extension. It finds this command by the environment variable
${ACP_SOCKET_VARIABLE}, which holds the path of a local socket; it is set for the bridge, there is nothing to do.
Exit code: that of the bridge; 127 when it was not found, 126 when it may not be run, 2 for a wrong command line.
`;
