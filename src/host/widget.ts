// Widgets above the editor, where there is a terminal interface that draws them.
import type { HostContext } from "./api.ts";
import type { WidgetFactory } from "./ui.ts";

/** 0.73.1 does not say its mode; its RPC mode is a command-line flag. */
function isRpc(ctx: HostContext): boolean {
  if (ctx.mode !== undefined) return ctx.mode === "rpc";
  const { argv } = process;
  return argv.some((word, at) => word === "--mode=rpc" || (word === "--mode" && argv[at + 1] === "rpc"));
}

/** Whether a person looks at a terminal interface; print, JSON and RPC modes have none. */
export function hasTerminal(ctx: HostContext): boolean {
  return ctx.hasUI && !isRpc(ctx);
}

/** Puts a widget above the editor, or takes it away. Without a terminal interface nothing happens. */
export function setWidget(ctx: HostContext, key: string, content: WidgetFactory | undefined): void {
  if (hasTerminal(ctx)) ctx.ui.setWidget(key, content);
}

/** The width of the terminal that a person looks at; undefined where there is none. */
export function terminalColumns(ctx: HostContext): number | undefined {
  return hasTerminal(ctx) && process.stdout.isTTY ? process.stdout.columns : undefined;
}
