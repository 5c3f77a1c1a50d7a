// What Pi's terminal interface gives extensions to draw with, on every supported host.

/** Pi's theme: each call returns the text with terminal codes around it. */
export interface UiTheme {
  fg(
    color: "accent" | "dim" | "muted" | "success" | "error" | "warning" | "toolTitle" | "toolOutput",
    text: string,
  ): string;
  bold(text: string): string;
  strikethrough(text: string): string;
}

/** Something drawn: lines of at most `width` columns. Pi stops when one is wider. */
export interface UiComponent {
  render(width: number): string[];
  invalidate(): void;
}

/** Called once, in a terminal interface only; RPC clients get nothing. */
export type WidgetFactory = (tui: unknown, theme: UiTheme) => UiComponent;

/** What the host says of a tool result that is to be drawn. */
export interface DrawnResult {
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly details?: unknown;
}

export interface DrawOptions {
  readonly expanded: boolean;
  readonly isPartial: boolean;
}

export interface DrawContext {
  readonly expanded?: boolean;
  readonly isError?: boolean;
}

/** How a tool's calls and results are drawn; a part of the host's tool definition. */
export interface ToolRenderer {
  readonly renderCall: (args: unknown, theme: UiTheme, context: DrawContext) => UiComponent;
  readonly renderResult: (
    result: DrawnResult,
    options: DrawOptions,
    theme: UiTheme,
    context: DrawContext,
  ) => UiComponent;
}
