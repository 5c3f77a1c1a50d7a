// How calls and results of the tools are drawn: one line each by default, whole when expanded. A table by tool, so that a
// new tool must have its line. Everything drawn comes from the log and may be anything, so nothing here trusts a shape.

import { counted, grouped } from "../figures.ts";
import type { DrawnResult, ToolRenderer, UiComponent, UiTheme } from "../host/ui.ts";
import { noteName } from "../notes/paths.ts";
import { agentName } from "../task/addresses.ts";
import type { TodoItem } from "../todo/list.ts";
import { TOOL_SPECS, type ToolName } from "../tools/specs.ts";
import { fitted, wrapped } from "./columns.ts";
import { countsLine, drawnTodo } from "./todo-lines.ts";

type Facts = Readonly<Record<string, unknown>>;

interface Summary {
  /** What is shown after the tool's name in a call. */
  readonly call: (args: Facts) => string;
  /** One line about a result that did not fail; undefined when its details do not say. */
  readonly result: (details: Facts) => string | undefined;
  /** The lines of an expanded call, besides its first: arguments worth reading whole. */
  readonly body?: (args: Facts) => string;
  /** The lines of an expanded result, when they are more than its text. */
  readonly whole?: (details: Facts, theme: UiTheme, width: number) => readonly string[] | undefined;
}

function factsOf(value: unknown): Facts {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Facts) : {};
}

function shown(value: unknown): string {
  if (value === undefined || value === null || value === "") return "";
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

function quoted(value: unknown): string {
  return value === undefined ? "" : `"${shown(value)}"`;
}

function joined(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(" · ");
}

function countedIf(count: unknown, one: string): string | undefined {
  return typeof count === "number" ? counted(count, one) : undefined;
}

/** Such as `8 of 120 items`. */
function rowsShown({ returned, total }: Facts, what: string): string | undefined {
  const all = countedIf(total, what);
  if (all === undefined || typeof returned !== "number") return undefined;
  return returned === total ? all : `${grouped(returned)} of ${all}`;
}

function pageShown({ offset_chars: from, end_chars: to, total_chars: total }: Facts): string | undefined {
  if (typeof from !== "number" || typeof to !== "number") return undefined;
  const all = countedIf(total, "character");
  return to - from === total ? all : `${grouped(from)}–${grouped(to)} of ${all}`;
}

function itemFilters({ window_id, role, tool_namespace, tool_name, agent_name, recent_first }: Facts): string {
  const order = recent_first === true ? "newest first" : "";
  const filters = [window_id, role, tool_name ?? tool_namespace, order].map(shown);
  return joined(agentName(shown(agent_name)), ...filters);
}

function noteSaved({ bytes, created }: Facts): string | undefined {
  const size = countedIf(bytes, "byte");
  return size && joined(created === true ? "created" : "saved", size);
}

function budget({ window_id, remaining_tokens, used_tokens, phase }: Facts): string | undefined {
  if (typeof window_id !== "string") return undefined;
  const left = countedIf(remaining_tokens, "token");
  const used = countedIf(used_tokens, "token");
  return joined(window_id, left ? `${left} left` : "left unknown", used ? `${used} used` : "", shown(phase));
}

function todosIn(value: unknown): readonly TodoItem[] {
  if (!Array.isArray(value)) return [];
  return value.filter((item): item is TodoItem => typeof factsOf(item).content === "string");
}

function todoSummary(details: Facts): string | undefined {
  if (!Array.isArray(details.todos)) return undefined;
  const todos = todosIn(details.todos);
  if (todos.length === 0) return "empty";
  const active = todos.find(({ status }) => status === "in_progress");
  const dropped = todosIn(details.dropped).length;
  return joined(countsLine(todos), active?.content ?? "", dropped === 0 ? "" : `${dropped} dropped`);
}

const nothing = () => "";

const SUMMARIES: { readonly [N in ToolName]: Summary } = {
  history_list_windows: {
    call: itemFilters,
    result: (details) => rowsShown(details, "window"),
  },
  history_list_items: {
    call: itemFilters,
    result: (details) => rowsShown(details, "item"),
  },
  history_read_item: {
    call: ({ item_id, window_id, agent_name, offset_chars }) =>
      joined(
        agentName(shown(agent_name)),
        shown(window_id),
        shown(item_id),
        offset_chars ? `from ${shown(offset_chars)}` : "",
      ),
    result: pageShown,
  },
  history_search_contents: {
    call: (args) => joined(quoted(args.query), itemFilters(args)),
    result: (details) => rowsShown(details, "item"),
  },
  notes_list_files_by_prefix: {
    call: ({ prefix }) => noteName(shown(prefix)),
    result: (details) => rowsShown(details, "file"),
  },
  notes_read_file: {
    call: ({ path }) => noteName(shown(path)),
    result: pageShown,
  },
  notes_search_contents: {
    call: ({ query, path_prefix }) => joined(quoted(query), noteName(shown(path_prefix))),
    result: (details) => rowsShown(details, "line"),
  },
  notes_append_to_file: {
    call: ({ path }) => noteName(shown(path)),
    result: noteSaved,
    body: ({ text }) => shown(text),
  },
  notes_write_file: {
    call: ({ path }) => noteName(shown(path)),
    result: noteSaved,
    body: ({ text }) => shown(text),
  },
  get_context_remaining: { call: nothing, result: budget },
  new_context: {
    call: nothing,
    result: ({ opened, window_id }) => {
      if (typeof opened !== "boolean") return undefined;
      return opened ? `${shown(window_id)} opens with the next request` : `${shown(window_id)} holds nothing yet`;
    },
  },
  todo_write: {
    call: ({ todos }) => (Array.isArray(todos) ? counted(todos.length, "item") : ""),
    result: todoSummary,
    whole: (details, theme, width) => {
      const todos = todosIn(details.todos);
      if (todos.length === 0) return undefined;
      const dropped = todosIn(details.dropped).map(({ content }) => fitted(`dropped: ${content}`, width));
      return [...todos.map((todo) => drawnTodo(todo, "past", theme, width)), ...dropped];
    },
  },
};

/** Keeps what was drawn: hosts redraw everything with each key press. */
function component(draw: (width: number) => readonly string[]): UiComponent {
  let kept: { readonly width: number; readonly lines: readonly string[] } | undefined;
  return {
    render: (width) => {
      if (kept?.width !== width) kept = { width, lines: draw(Math.max(1, width)) };
      return [...kept.lines];
    },
    invalidate: () => {
      kept = undefined;
    },
  };
}

function textOf({ content }: DrawnResult): string {
  if (!Array.isArray(content)) return "";
  return content.flatMap(({ text }) => (typeof text === "string" ? [text] : [])).join("\n");
}

function firstLine(text: string): string {
  return text.slice(0, 2_000).trimStart().split("\n", 1)[0] ?? "";
}

/** How calls and results of a tool are drawn, on every host. */
export function toolRenderer(name: ToolName): ToolRenderer {
  const { call, result, body, whole } = SUMMARIES[name];
  const { label } = TOOL_SPECS[name];
  return {
    renderCall: (raw, theme, context) => {
      const args = factsOf(raw);
      return component((width) => {
        const title = fitted(label, width);
        const about = fitted(call(args), width - title.length - 1);
        const head = theme.fg("toolTitle", theme.bold(title)) + (about === "" ? "" : ` ${theme.fg("accent", about)}`);
        const text = context?.expanded === true ? (body?.(args) ?? "") : "";
        return [head, ...(text === "" ? [] : wrapped(text, width).map((line) => theme.fg("toolOutput", line)))];
      });
    },
    renderResult: (drawn, { expanded }, theme, context) => {
      const text = textOf(drawn);
      const details = factsOf(drawn.details);
      if (context?.isError === true) {
        return component((width) => {
          const lines = expanded ? wrapped(text, width) : [fitted(firstLine(text), width)];
          return lines.map((line) => theme.fg("error", line));
        });
      }
      return component((width) => {
        if (!expanded) return [theme.fg("muted", fitted(result(details) ?? firstLine(text), width))];
        const lines = whole?.(details, theme, width);
        return lines ?? wrapped(text, width).map((line) => theme.fg("toolOutput", line));
      });
    },
  };
}
