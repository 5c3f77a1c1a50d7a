// Calls tools as a host does: validation, execution, and the result's content.
import type { ItemSource } from "../../src/history/source.ts";
import { defineTool, type Execute } from "../../src/tools/define.ts";
import { historyTools } from "../../src/tools/history.ts";
import type { ToolName } from "../../src/tools/specs.ts";

export interface Answer {
  readonly text: string;
  readonly images: readonly { readonly type: string; readonly mimeType?: string }[];
  readonly details: Readonly<Record<string, unknown>>;
  /** The lines of a list, parsed. */
  lines(): readonly Readonly<Record<string, unknown>>[];
  /** The header of a read, parsed. */
  header(): Readonly<Record<string, unknown>>;
  /** What follows the header. */
  body(): string;
}

export type CallTool<N extends ToolName> = (name: N, args?: object, callId?: string) => Promise<Answer>;

export function callerOf<N extends ToolName>(tools: { readonly [K in N]: Execute<K> }): CallTool<N> {
  return async (name, args = {}, callId = "running") => {
    const definition = defineTool(name, tools[name]);
    const { content, details } = await definition.execute(callId, definition.prepareArguments(args), undefined);
    const [first, ...images] = content;
    if (first?.type !== "text") throw new Error("a result begins with its text");
    const end = first.text.indexOf("\n");
    return {
      text: first.text,
      images: images as Answer["images"],
      details,
      lines: () => first.text.split("\n").map((line) => JSON.parse(line)),
      header: () => JSON.parse(first.text.slice(0, end)),
      body: () => first.text.slice(end + 1),
    };
  };
}

export interface HistoryCalls {
  readonly maxToolOutputChars?: number;
  readonly historyItemPreviewChars?: number;
  readonly takesImages?: boolean;
}

/** The history tools over one source. */
export function historyCaller(source: ItemSource, options: HistoryCalls = {}) {
  const { maxToolOutputChars = 12_000, historyItemPreviewChars = 400, takesImages = true } = options;
  return callerOf(
    historyTools({
      sourceOf: () => source,
      limits: () => ({ maxToolOutputChars, historyItemPreviewChars }),
      takesImages: () => takesImages,
    }),
  );
}
