// A theme whose codes can be read in a test.
import type { UiTheme } from "../../src/host/ui.ts";

/** Colours vanish; what is struck through stands between tildes, what is bold between stars. */
export const READABLE: UiTheme = {
  fg: (_color, text) => text,
  bold: (text) => `*${text}*`,
  strikethrough: (text) => `~${text}~`,
};

/** Nothing but the text. */
export const PLAIN: UiTheme = { fg: (_color, text) => text, bold: (text) => text, strikethrough: (text) => text };
