// A person at a real terminal whose model is reached over HTTP, as a file of scenarios needs it.
import { afterEach } from "vitest";
import { currentHostName } from "../../fixtures/pi/hosts.ts";
import { type Provider, startProvider } from "../../fixtures/pi/http-provider.ts";
import { isReady, startTerminal, type Terminal, type TerminalOptions } from "../../fixtures/pi/terminal.ts";

/** All of a scenario fits: newer hosts keep no more than the screen. */
export const TALL = 160;
/** The oldest and the newest are looked at; what is between them is drawn by the same calls. */
export const IS_SEEN_ELSEWHERE = currentHostName() === "0.84.4";

/** Words as they are where the terminal breaks lines. */
export const joined = (screen: string) => screen.replace(/\s+/g, " ");
export const count = (text: string, words: string) => text.split(words).length - 1;

export type StartHttpTerminal = (id: string, options?: Omit<TerminalOptions, "model">) => Promise<Terminal>;

/** Starts Pi on a model of the provider's; terminals of a test share one provider, and all is gone after the test. */
export function httpTerminals(): StartHttpTerminal {
  let provider: Provider | undefined;
  const open: Terminal[] = [];
  afterEach(async () => {
    for (const terminal of open) terminal.close();
    await provider?.close();
    provider = undefined;
    for (const { environment } of open.splice(0)) environment.remove();
  });
  return async (id, options = {}) => {
    provider ??= await startProvider();
    const terminal = startTerminal({ model: { provider, id }, ...options });
    open.push(terminal);
    await terminal.until("Pi", isReady);
    return terminal;
  };
}
