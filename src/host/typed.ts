// What a person types after `/compact`: a host that refuses the command before any hook runs informs no extension, and its
// own commands cause no `input` event. The editor still holds the line when Enter is pressed. Reads keys, never consumes one.
import type { HostContext } from "./api.ts";
import { hasTerminal } from "./widget.ts";

const WITH_INSTRUCTIONS = /^\s*\/compact\s+(\S.*)$/s;

export class TypedInstructions {
  #newest: string | undefined;
  #stop = () => {};

  /** Listens in this session's terminal, where there is one, and no longer in an older one's. */
  listen(ctx: HostContext): void {
    this.stop();
    const { ui } = ctx;
    if (!hasTerminal(ctx) || !ui.onTerminalInput || !ui.getEditorText) return;
    this.#stop = ui.onTerminalInput(() => {
      this.#look(ctx);
      return undefined;
    });
  }

  stop(): void {
    this.#stop();
    this.#stop = () => {};
    this.#newest = undefined;
  }

  /** The instructions of the line that was sent last, once. */
  take(): string | undefined {
    const newest = this.#newest;
    this.#newest = undefined;
    return newest;
  }

  #look({ ui }: HostContext): void {
    try {
      const line = ui.getEditorText?.() ?? "";
      // An empty editor is what the line leaves behind.
      if (line.trim() !== "") this.#newest = WITH_INSTRUCTIONS.exec(line)?.[1]?.trim();
    } catch {
      // The session is gone.
    }
  }
}

/** Puts a line into the editor, where it is empty; false where it could not be put. */
export function offerLine({ ui }: HostContext, line: string): boolean {
  try {
    if (!ui.setEditorText || ui.getEditorText?.() !== "") return false;
    ui.setEditorText(line);
    return true;
  } catch {
    // The session is gone.
    return false;
  }
}
