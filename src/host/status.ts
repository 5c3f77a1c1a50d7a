// The footer line and the keys of a terminal interface. Print, JSON and RPC modes get neither.
import type { HostContext } from "./api.ts";
import { hasTerminal } from "./widget.ts";

/** Shows a line in the footer under a key of its own, or takes it away. */
export function showStatus(ctx: HostContext, key: string, text: string | undefined): void {
  try {
    if (hasTerminal(ctx)) ctx.ui.setStatus(key, text === undefined ? undefined : ctx.ui.theme.fg("dim", text));
  } catch {
    // The session is gone, and its footer with it.
  }
}

/** Escape as terminals send it: alone, or in the form of the kitty protocol, pressed. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the key is a control character
const ESCAPE = /^\x1b(\[27(;1(:1)?)?u)?$/;

/** Calls `pressed` when Escape is pressed while nothing runs that it would stop; returns how to stop listening. */
export function onEscape(ctx: HostContext, pressed: () => void): () => void {
  if (!hasTerminal(ctx) || !ctx.ui.onTerminalInput) return () => undefined;
  return ctx.ui.onTerminalInput((data) => {
    if (!ESCAPE.test(data) || !ctx.isIdle()) return undefined;
    pressed();
    return { consume: true };
  });
}
