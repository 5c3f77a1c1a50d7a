// What a program is given that reads a root task without a session.
import type { AgentInfo } from "../launcher.ts";
import type { ItemRole } from "../log/item.ts";
import type { Category } from "../task/category.ts";
import type { TaskContext } from "../task/context.ts";

/** An agent of a task that is read. */
export interface ReadableAgent extends AgentInfo {
  /** Whether this reader may read its history and notes; the category decides. */
  readonly readable: boolean;
}

export interface HistoryWindow {
  /** `w1`, `w2`, … */
  readonly windowId: string;
  /** Items that lists show. */
  readonly items: number;
  readonly firstItemId: string | null;
  readonly lastItemId: string | null;
  /** ISO 8601, both; null in a window without items. */
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  /** Whether it is the last one. */
  readonly current: boolean;
}

/** One item of a history, without its text. */
export interface HistoryItem {
  readonly itemId: string;
  readonly windowId: string;
  readonly role: ItemRole;
  /** ISO 8601. */
  readonly timestamp: string;
  /** Names of the tools that it calls, or of the one whose result it is. */
  readonly tools: readonly string[];
  /** Length of the whole text, in Unicode characters. */
  readonly chars: number;
  /** Images in it. */
  readonly images: number;
}

export interface ListedHistoryItem extends HistoryItem {
  /** The beginning of its text. */
  readonly preview: string;
}

export interface FoundHistoryItem extends HistoryItem {
  /** The first matches with the text around them. */
  readonly regions: readonly HistoryRegion[];
}

export interface HistoryRegion {
  readonly text: string;
  /** Where `text` stands in the item's text, in Unicode characters. */
  readonly offset: number;
  /** Where the matches stand in the item's text, in Unicode characters; `end` is exclusive. */
  readonly matches: readonly { readonly start: number; readonly end: number }[];
}

export interface ReadHistoryItem extends HistoryItem {
  /** The whole text, exactly. */
  readonly text: string;
  /** Of its images: kind (MIME type) and bytes (base64). */
  readonly imageData: readonly { readonly mimeType: string; readonly data: string }[];
  /** `other`: it is on an abandoned branch of the same session. */
  readonly branch: "current" | "other";
}

export interface HistoryPage<T> {
  /** Items there are in all, from `from` on. */
  readonly total: number;
  readonly items: readonly T[];
  /** Pass it as `from` to go on; null at the end. */
  readonly next: string | null;
}

export interface HistoryQuery {
  /** Only this window; all when left out. */
  readonly windowId?: string;
  /** Only items of this role. */
  readonly role?: ItemRole;
  /** Only calls and results of this tool. */
  readonly toolName?: string;
  /** The newest first. Default false. */
  readonly recentFirst?: boolean;
  /** Items at most; default 100. */
  readonly limit?: number;
  /** The id of the item to begin with: `next` of the page before. */
  readonly from?: string;
  /** Text of an item at most, in Unicode characters; default 400. */
  readonly previewChars?: number;
}

export interface NoteInfo {
  /** Below the agent's notes. */
  readonly path: string;
  readonly bytes: number;
  /** ISO 8601, both. */
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface NoteText {
  /** The whole note; bytes that are no UTF-8 show as U+FFFD. */
  readonly text: string;
  readonly bytes: number;
  /** ISO 8601. */
  readonly updatedAt: string;
}

export interface NoteSearchPage {
  /** Lines there are in all that match. */
  readonly total: number;
  readonly matches: readonly NoteMatch[];
}

export interface NoteMatch {
  /** Below the agent's notes. */
  readonly path: string;
  /** Counted from 1. */
  readonly line: number;
  /** The whole line, without its end. */
  readonly text: string;
}

export interface NoteQuery {
  /** Only notes whose path begins with it. */
  readonly prefix?: string;
}

export interface NoteSearchQuery extends NoteQuery {
  /** Lines at most; default 100. */
  readonly limit?: number;
}

/**
 * A root task as a program without a session reads it. Agents are named by address, `/root/reviewer`, or below the root,
 * `reviewer`. Every call looks at the disk anew, and rejects with a `TokenBudgetError`: `unknown_agent`,
 * `invalid_address`: there is no such agent; `refused`: its content is of a category that is not this reader's, or the
 * registry breaks a rule; `invalid_argument`, `unknown_field`: an argument; `storage_failed`: the disk.
 */
export interface TaskReader {
  readonly context: TaskContext;
  /** What it may read beside ordinary content; null: nothing. */
  readonly category: Category;
  /** All agents, in the order of registration. Throws `refused`, `storage_failed`, `newer_format`. */
  agents(): readonly ReadableAgent[];
  readonly history: {
    /** The windows, oldest first. */
    windows(agentName: string): Promise<readonly HistoryWindow[]>;
    /** Items with the beginning of their texts, oldest first. */
    list(agentName: string, query?: HistoryQuery): Promise<HistoryPage<ListedHistoryItem>>;
    /** One whole item. `unknown_item`: there is none with this id. */
    read(agentName: string, itemId: string): Promise<ReadHistoryItem>;
    /** Items whose text holds `text`, literally. */
    search(agentName: string, text: string, query?: HistoryQuery): Promise<HistoryPage<FoundHistoryItem>>;
  };
  readonly notes: {
    /** All notes, by name. */
    list(agentName: string, query?: NoteQuery): Promise<readonly NoteInfo[]>;
    /** A whole note. `not_found`, `invalid_path`: there is none, or can be none. */
    read(agentName: string, path: string): Promise<NoteText>;
    /** Lines that hold `text`, literally; notes by name. */
    search(agentName: string, text: string, query?: NoteSearchQuery): Promise<NoteSearchPage>;
  };
}
