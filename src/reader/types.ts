// The types of a program that reads a root task without a session.
import type { ItemBranch, WindowContents } from "../history/shapes.ts";
import type { AgentInfo } from "../launcher.ts";
import type { ItemRole } from "../log/item.ts";
import type { NoteInfo, NoteText } from "../notes/shapes.ts";
import type { Category } from "../task/category.ts";
import type { TaskContext } from "../task/context.ts";

/** An agent of a task that is read. */
export interface ReadableAgent extends AgentInfo {
  /** Whether this reader may read its history and notes; the category decides. */
  readonly readable: boolean;
}

/** A window of a history. */
export interface HistoryWindow extends WindowContents {
  /** `w1`, `w2`, … */
  readonly windowId: string;
}

/** One item of a history, without its text. */
export interface HistoryItem {
  /** As `history.read` and `from` take it. */
  readonly itemId: string;
  /** Id of the window that it is in. */
  readonly windowId: string;
  /** Its role. */
  readonly role: ItemRole;
  /** When it was written, ISO 8601. */
  readonly timestamp: string;
  /** Names of the tools that it calls, or of the one whose result it is. */
  readonly tools: readonly string[];
  /** Length of the whole text, in Unicode characters. */
  readonly chars: number;
  /** Number of images in it. */
  readonly images: number;
}

/** An item of a list. */
export interface ListedHistoryItem extends HistoryItem {
  /** The beginning of its text, at most `previewChars`. */
  readonly preview: string;
}

/** An item that a search found. */
export interface FoundHistoryItem extends HistoryItem {
  /** The first matches with the text around them, at most `previewChars` of it together. */
  readonly regions: readonly HistoryRegion[];
}

/** A stretch of an item's text around matches. */
export interface HistoryRegion {
  /** The item's text, unchanged. */
  readonly text: string;
  /** Where `text` begins in the item's text, in Unicode characters. */
  readonly offset: number;
  /** Where the matches are in the item's text. */
  readonly matches: readonly {
    /** Where it begins, in Unicode characters. */
    readonly start: number;
    /** Where it ends, exclusive, in Unicode characters. */
    readonly end: number;
  }[];
}

/** A whole item. */
export interface ReadHistoryItem extends HistoryItem {
  /** The whole text, exactly. */
  readonly text: string;
  /** Its images. */
  readonly imageData: readonly {
    /** Such as `image/png`. */
    readonly mimeType: string;
    /** The bytes, in base64. */
    readonly data: string;
  }[];
  /** Whether it is on the branch that the session shows. */
  readonly branch: ItemBranch;
}

/** A part of a list or a search. */
export interface HistoryPage<T> {
  /** Number of items there are in all, from `from` on. */
  readonly total: number;
  /** The items, in the order that was asked for. */
  readonly items: readonly T[];
  /** Pass it as `from` to continue; null at the end. */
  readonly next: string | null;
}

/** Which items, and how many; every field may be left out. */
export interface HistoryQuery {
  /** Only this window; all when left out. */
  readonly windowId?: string;
  /** Only items of this role; all when left out. */
  readonly role?: ItemRole;
  /** Only calls and results of this tool; all items when left out. */
  readonly toolName?: string;
  /** The newest first. Default false. */
  readonly recentFirst?: boolean;
  /** Number of items at most; default 100. */
  readonly limit?: number;
  /** The id of the item to begin with: `next` of the page before. Left out, it begins at the end that comes first. */
  readonly from?: string;
  /** Text of an item at most, in Unicode characters; default 400. */
  readonly previewChars?: number;
}

/** Lines that a search of notes found. */
export interface NoteSearchPage {
  /** Number of lines that match in all. */
  readonly total: number;
  /** The lines, at most `limit`; notes by name. */
  readonly matches: readonly NoteMatch[];
}

/** A line of a note. */
export interface NoteMatch {
  /** Relative to the agent's notes. */
  readonly path: string;
  /** Number of the line, counted from 1. */
  readonly line: number;
  /** The whole line, without its end. */
  readonly text: string;
}

/** Which notes. */
export interface NoteQuery {
  /** Only notes whose path begins with it; all when left out. */
  readonly prefix?: string;
}

/** Which notes to search, and how much to answer. */
export interface NoteSearchQuery extends NoteQuery {
  /** Number of lines at most; default 100. */
  readonly limit?: number;
}

/** A root task as a program without a session reads it. Every call reads the disk again. */
export interface TaskReader {
  /** The task that it reads. */
  readonly context: TaskContext;
  /** The category it may read besides ordinary content; null: none. */
  readonly category: Category;
  /**
   * All agents, in the order of registration.
   *
   * @throws TokenBudgetError `refused`, `storage_failed`, `newer_format`: the registry; `not_found`: the task is gone.
   */
  agents(): readonly ReadableAgent[];
  /** The histories of agents. */
  readonly history: HistoriesReader;
  /** The notes of agents. */
  readonly notes: NotesReader;
}

/**
 * Histories of a root task. Agents are named by address, `/root/reviewer`, or by what follows the root in it,
 * `reviewer`. What goes wrong with the agent rejects with `unknown_agent` or `invalid_address`: there is no such agent;
 * `refused`: its content is of a category that is not this reader's, or the registry breaks a rule; `storage_failed`,
 * `newer_format`: the disk; `not_found`: the task is gone.
 */
export interface HistoriesReader {
  /**
   * All windows, oldest first.
   *
   * @throws TokenBudgetError (rejects) `invalid_argument`, and what goes wrong with the agent.
   */
  windows(agentName: string): Promise<readonly HistoryWindow[]>;
  /**
   * Items with the beginning of their texts, oldest first.
   *
   * @throws TokenBudgetError (rejects) `invalid_argument`, `unknown_field`: the query; `unknown_item`: `from`; and what goes
   * wrong with the agent.
   */
  list(agentName: string, query?: HistoryQuery): Promise<HistoryPage<ListedHistoryItem>>;
  /**
   * One whole item.
   *
   * @throws TokenBudgetError (rejects) `unknown_item`: there is none with this id; `invalid_argument`; and what goes wrong
   * with the agent.
   */
  read(agentName: string, itemId: string): Promise<ReadHistoryItem>;
  /**
   * Items whose text holds `text`, literally, oldest first.
   *
   * @throws TokenBudgetError (rejects) as `list` does.
   */
  search(agentName: string, text: string, query?: HistoryQuery): Promise<HistoryPage<FoundHistoryItem>>;
}

/** Notes of a root task; agents are named, and what goes wrong with them rejects, as in `HistoriesReader`. */
export interface NotesReader {
  /**
   * All notes, by name.
   *
   * @throws TokenBudgetError (rejects) `invalid_argument`, `unknown_field`, `invalid_path`: the query; and what goes wrong
   * with the agent.
   */
  list(agentName: string, query?: NoteQuery): Promise<readonly NoteInfo[]>;
  /**
   * A whole note.
   *
   * @throws TokenBudgetError (rejects) `not_found`, `invalid_path`: there is none, or can be none; `invalid_argument`; and
   * what goes wrong with the agent.
   */
  read(agentName: string, path: string): Promise<NoteText>;
  /**
   * Lines that hold `text`, literally; notes by name.
   *
   * @throws TokenBudgetError (rejects) as `list` does.
   */
  search(agentName: string, text: string, query?: NoteSearchQuery): Promise<NoteSearchPage>;
}
