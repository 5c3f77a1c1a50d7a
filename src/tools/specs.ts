// The one table of tool facts: names, parameters, bounds, descriptions. Schemas, validation, registration, limits and
// the frozen fixture are all derived from it. Every word of a description costs tokens on every request.
import { TODO_STATUSES } from "../todo/list.ts";

export interface ParamSpec {
  readonly type: "string" | "integer" | "boolean" | "array";
  /** The fields of each object in an array. */
  readonly items?: Readonly<Record<string, ParamSpec>>;
  readonly required: boolean;
  /** `null` is accepted and means "omitted". */
  readonly nullable: boolean;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  /** Used when the parameter is left out. */
  readonly default?: number;
  /** A larger value is clamped to it; the output shows the value used. */
  readonly maximum?: number;
  readonly description?: string;
}

export interface ToolSpec {
  /** The reference's name for the same tool; null when it has none. */
  readonly reference: string | null;
  /** A person's name for it. */
  readonly label: string;
  readonly executionMode: "parallel" | "sequential";
  readonly description: string;
  readonly params: Readonly<Record<string, ParamSpec>>;
}

const optional = { required: false, nullable: false } as const;
const nullable = { required: false, nullable: true } as const;
const required = { required: true, nullable: false } as const;

const LIST_LIMIT = { type: "integer", ...optional, minimum: 1, default: 50, maximum: 200 } as const;
const SEARCH_LIMIT = { type: "integer", ...optional, minimum: 1, default: 20, maximum: 200 } as const;
const RECENT_FIRST = { type: "boolean", ...optional, description: "Newest first." } as const;
const AGENT_NAME = { type: "string", ...nullable, description: "Another agent's address; default: you." } as const;
const WINDOW_ID = { type: "string", ...nullable, description: "Such as w2; default: all windows." } as const;
const ITEM_FILTERS = {
  window_id: WINDOW_ID,
  role: { type: "string", ...nullable, enum: ["user", "assistant", "tool", "system", "developer"] },
  tool_namespace: { type: "string", ...nullable, description: "functions, history or notes." },
  tool_name: { type: "string", ...nullable },
  agent_name: AGENT_NAME,
} as const;
const NOTE_PATH = {
  type: "string",
  ...required,
  description: "Such as checkpoint.md; another agent's file is /root/…/notes/<path>.",
} as const;
const OFFSET_CHARS = { type: "integer", ...optional, minimum: 0, description: "Start, in characters." } as const;
const LIMIT_CHARS = { type: "integer", ...optional, minimum: 1, description: "Length, in characters." } as const;

export const TOOL_SPECS = {
  history_list_windows: {
    reference: "history.list_windows",
    label: "List context windows",
    executionMode: "parallel",
    description: "List the context windows of this session, with item counts and first and last item ids.",
    params: { limit: LIST_LIMIT, agent_name: AGENT_NAME, recent_first: RECENT_FIRST },
  },
  history_list_items: {
    reference: "history.list_items",
    label: "List history items",
    executionMode: "parallel",
    description:
      "List items (messages, tool calls and results) of all windows with previews. Filter by window, role or tool; " +
      "role user, recent_first finds the latest requests.",
    params: {
      limit: LIST_LIMIT,
      recent_first: RECENT_FIRST,
      ...ITEM_FILTERS,
      max_chars_per_item: { type: "integer", ...optional, minimum: 1, description: "Preview length." },
    },
  },
  history_read_item: {
    reference: "history.read_item",
    label: "Read a history item",
    executionMode: "parallel",
    description: "Read an item's exact text, with its images, by item and window id. Page with offset_chars.",
    params: {
      item_id: { type: "string", ...required },
      window_id: { type: "string", ...required },
      agent_name: AGENT_NAME,
      offset_chars: OFFSET_CHARS,
      limit_chars: LIMIT_CHARS,
    },
  },
  history_search_contents: {
    reference: "history.search_contents",
    label: "Search history",
    executionMode: "parallel",
    description:
      "Find a literal, case-sensitive string in all windows. Rows give the offset_chars and limit_chars for " +
      "history_read_item.",
    params: {
      query: { type: "string", ...required },
      limit: SEARCH_LIMIT,
      recent_first: RECENT_FIRST,
      ...ITEM_FILTERS,
    },
  },
  notes_list_files_by_prefix: {
    reference: "notes.list_files_by_prefix",
    label: "List notes",
    executionMode: "parallel",
    description: "List note files whose path starts with a prefix (default: all of yours).",
    params: {
      prefix: { type: "string", ...nullable },
      max_results: { type: "integer", ...optional, minimum: 1, default: 100, maximum: 500 },
      file_order_by: { type: "string", ...optional, enum: ["name", "created_at", "updated_at"] },
      file_order: { type: "string", ...optional, enum: ["ascending", "descending"] },
    },
  },
  notes_read_file: {
    reference: "notes.read_file",
    label: "Read a note",
    executionMode: "parallel",
    description: "Read a note, whole or some lines (1-based, inclusive; negative counts from the end).",
    params: {
      path: NOTE_PATH,
      start_line: { type: "integer", ...nullable },
      stop_line: { type: "integer", ...nullable },
      offset_chars: OFFSET_CHARS,
      limit_chars: LIMIT_CHARS,
    },
  },
  notes_search_contents: {
    reference: "notes.search_contents",
    label: "Search notes",
    executionMode: "parallel",
    description:
      "Find a literal, case-sensitive string in notes, line by line. A cut line's offset_chars and limit_chars count from " +
      "that line: give it as start_line and stop_line.",
    params: {
      query: { type: "string", ...required },
      path_prefix: { type: "string", ...nullable },
      recent_file_first: { type: "boolean", ...optional, description: "Newest-created file first." },
      max_files: { type: "integer", ...optional, minimum: 1, default: 50, maximum: 500 },
      max_matches_per_file: { type: "integer", ...optional, minimum: 1, default: 10, maximum: 100 },
    },
  },
  notes_append_to_file: {
    reference: "notes.append_to_file",
    label: "Append to a note",
    executionMode: "sequential",
    description: "Append exactly this text to a note, creating it if needed. Begin or end records with a newline.",
    params: { path: NOTE_PATH, text: { type: "string", ...required } },
  },
  notes_write_file: {
    reference: "notes.write_file",
    label: "Write a note",
    executionMode: "sequential",
    description: "Create or replace a note. Notes survive every window change.",
    params: { path: NOTE_PATH, text: { type: "string", ...required } },
  },
  get_context_remaining: {
    reference: "functions.get_context_remaining",
    label: "Context remaining",
    executionMode: "parallel",
    description: "Tokens used and left in this context window, its id and phase, and the agents of this task.",
    params: {},
  },
  new_context: {
    reference: "functions.new_context",
    label: "New context window",
    executionMode: "sequential",
    description:
      "Open a fresh context window without a summary. Save a checkpoint note first; after this only notes and history remain.",
    params: {},
  },
  todo_write: {
    reference: null,
    label: "Todo list",
    executionMode: "sequential",
    description:
      "Keep the todo list of a task of several steps; the user watches it. Send the whole current list each time: it " +
      "replaces the old one, [] clears it. Keep exactly one item in_progress while work remains, and complete an item as " +
      "soon as it is done.",
    params: {
      todos: {
        type: "array",
        ...required,
        items: {
          content: { type: "string", ...required },
          status: { type: "string", ...required, enum: TODO_STATUSES },
        },
      },
    },
  },
} as const satisfies Record<string, ToolSpec>;

/** The name of a tool of this package, as models call it. */
export type ToolName = keyof typeof TOOL_SPECS;

/** The names of all registered tools, in table order: what launchers put on a tool whitelist. */
export const TOOL_NAMES = Object.keys(TOOL_SPECS) as readonly ToolName[];

type ValueOf<P extends ParamSpec> =
  P["items"] extends Readonly<Record<string, ParamSpec>>
    ? readonly { readonly [K in keyof P["items"]]: ValueOf<P["items"][K]> }[]
    : P["enum"] extends readonly (infer E)[]
      ? E
      : P["type"] extends "integer"
        ? number
        : P["type"] extends "boolean"
          ? boolean
          : string;

type ParamsTable<N extends ToolName> = (typeof TOOL_SPECS)[N]["params"];

/** A tool's arguments after validation: omitted and `null` parameters are not there. */
export type ParamsOf<N extends ToolName> = {
  readonly [K in keyof ParamsTable<N> as ParamsTable<N>[K] extends { required: true }
    ? K
    : never]: ParamsTable<N>[K] extends ParamSpec ? ValueOf<ParamsTable<N>[K]> : never;
} & {
  readonly [K in keyof ParamsTable<N> as ParamsTable<N>[K] extends { required: true }
    ? never
    : K]?: ParamsTable<N>[K] extends ParamSpec ? ValueOf<ParamsTable<N>[K]> : never;
};
