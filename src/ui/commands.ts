// The commands a person types. They show and start things; what they start is decided elsewhere.
import type { HostCommand, HostContext } from "../host/api.ts";

export interface ContextCommandParts {
  /** Lines about the window, its budget and its thresholds. */
  readonly describe: (ctx: HostContext) => readonly string[];
  /** Runs a checkpoint and opens the next window; answers what came of it. */
  readonly openWindow: (ctx: HostContext) => Promise<string>;
  readonly show: (ctx: HostContext, text: string) => void;
}

const USAGE = "usage: /context shows the window and its budget; /context new saves a checkpoint and opens a window.";

export function contextCommand(parts: ContextCommandParts): HostCommand {
  return {
    description: "Context window and budget; `new` saves a checkpoint and opens the next window",
    getArgumentCompletions: (prefix) => ("new".startsWith(prefix) ? [{ value: "new", label: "new" }] : null),
    handler: async (args, ctx) => {
      const argument = args.trim();
      if (argument === "") parts.show(ctx, parts.describe(ctx).join("\n"));
      else if (argument === "new") parts.show(ctx, await parts.openWindow(ctx));
      else parts.show(ctx, USAGE);
    },
  };
}
