// Tasks as programs see them: records without stored names, working directories and processes. Types only.
import type { Category } from "../task/category.ts";

/** Status of a task; one that waits for a free slot is `processing`, with the progress `queued`. */
export type TaskStatus = "processing" | "completed" | "failed" | "cancelled";

/** A file of a task; `openFile` gives its bytes. */
export interface FileView {
  /** As `openFile` takes it. */
  readonly id: string;
  /** Its name, without a folder. */
  readonly filename: string;
  /** Its name with the folders that it lay in, segments joined by `/`, such as `site/css/style.css`; never out of them. */
  readonly path: string;
  /** Whether the run that made it did not come to its end: it may be half of what was meant. */
  readonly partial: boolean;
  /** Its MIME type, by the name. */
  readonly contentType: string;
  /** `word` and `pdf` by the name; `other` is everything else. */
  readonly kind: "word" | "pdf" | "other";
  /** Bytes. */
  readonly size: number;
  /** When it was stored, ISO 8601. */
  readonly created: string;
}

/** What one model did for a task. */
export interface UsageRow {
  /** Of this row. */
  readonly id: string;
  /** What was made: `chat` for the model's answers, and what custom runners report. */
  readonly kind: "chat" | "image" | "internal";
  /** `provider/id`. */
  readonly model: string;
  /** Input tokens that did not come from the provider's cache. */
  readonly input: number;
  /** Tokens that the model wrote. */
  readonly output: number;
  /** Tokens that the provider had in its cache. */
  readonly cached: number;
  /** Number of runs that the row counts: 1. */
  readonly quantity: number;
  /** The provider's own cost figure, in its currency (Pi's: US dollars); null when it gives none. */
  readonly amount: number | null;
  /** Id of the task. */
  readonly task: string;
  /** When the run ended, ISO 8601. */
  readonly created: string;
}

/** What a model did for a run: a row of the record, or a part of one. */
export interface RunUsage {
  /** What was made: `chat` for answers. Rows are summed by kind and model. */
  readonly kind: UsageRow["kind"];
  /** `provider/id`. */
  readonly model: string;
  /** Input tokens that did not come from the provider's cache. */
  readonly input: number;
  /** Tokens that the model wrote. */
  readonly output: number;
  /** Tokens that the provider had in its cache. */
  readonly cached: number;
  /** The provider's own cost figure, in its currency; null when it gives none. */
  readonly amount: number | null;
}

/** What the tasks of this root task used since the day began, in UTC. */
export interface QuotaUsage {
  /** Input, cached and output tokens together. */
  readonly tokens: number;
  /** Cost, in the currency of the provider's figures (Pi's: US dollars), as far as providers gave one. */
  readonly amount: number;
  /** Number of tasks dispatched. */
  readonly tasks: number;
}

/** A task, as it was when it was read. */
export interface TaskView {
  /** As `get`, `rerun`, `cancel` and `remove` take it. */
  readonly id: string;
  /** Id of the root session of its root task. */
  readonly rootSession: string;
  /** Address of the agent that runs it, or ran it last. */
  readonly agent: string;
  /** Address of the agent that dispatched it. */
  readonly parent: string;
  /** Category of its content: a label, or null for ordinary content. */
  readonly category: Category;
  /** The goal's first line, at most 60 characters. */
  readonly title: string;
  /** The whole goal. */
  readonly requirement: string;
  /** Name of the runner that carries it out. */
  readonly runner: string;
  /** What its latest run was confined by, such as `bwrap`; null for nothing. */
  readonly sandbox: string | null;
  /** Its status. */
  readonly status: TaskStatus;
  /** The latest hint while it runs, `queued` while it waits; else empty. */
  readonly progress: string;
  /** What it did, oldest first: at most 200 lines of 500 characters. */
  readonly steps: readonly string[];
  /**
   * The child's last answer, at most 200,000 characters; null until a run of it is completed. A later run leaves it until it is completed
   * too.
   */
  readonly result: string | null;
  /** Why it failed, such as `interrupted`; null when it did not. */
  readonly error: string | null;
  /** `provider/id`; null when the runner chose its own. */
  readonly model: string | null;
  /** When it was dispatched, ISO 8601. */
  readonly created: string;
  /** When its record last changed, ISO 8601. */
  readonly updated: string;
  /** What was attached. */
  readonly files: readonly FileView[];
  /**
   * Finished products. Those of the last completed run stay while it runs again, and after a run that was not completed; half
   * products beside them are intermediate.
   */
  readonly outputs: readonly FileView[];
  /** Everything else that it made, newest first. */
  readonly intermediates: readonly FileView[];
  /** What models did for it, a row for each kind and model. */
  readonly usage: readonly UsageRow[];
}

/** A task that the viewer may not read: its agent, and nothing else. */
export interface RestrictedTask {
  /** Address of the agent that runs it. */
  readonly agent: string;
  /** Tells it from a `TaskView`. */
  readonly restricted: true;
}

/** The bytes of a file of a task. */
export interface OpenedFile {
  /** A readable stream of Node, to be read or destroyed. */
  readonly stream: AsyncIterable<Uint8Array>;
  /** The name that it was given, without a folder. */
  readonly filename: string;
  /** Its MIME type, by the name. */
  readonly contentType: string;
  /** Bytes. */
  readonly size: number;
}

/** What happens to a task. */
export type TaskEvent =
  | {
      readonly type: "progress";
      /** What it does now: one line of at most 500 characters. */
      readonly text: string;
    }
  | {
      readonly type: "step";
      /** What it did, as kept in `steps`: one line of at most 500 characters. */
      readonly text: string;
    }
  | {
      readonly type: "ended";
      /** The task after its end; no event follows. */
      readonly task: TaskView;
    };

/** What a task that runs or waits in this process has done so far. */
export interface LiveTask {
  /** Of the task. */
  readonly id: string;
  /** The goal's first line, at most 60 characters. */
  readonly title: string;
  /** Address of the agent that runs it. */
  readonly agent: string;
  /** What it does now, in one line; `queued` while it waits, empty when nothing is known yet. */
  readonly progress: string;
  /** How many steps it has done. */
  readonly steps: number;
  /** Input, cached and output tokens of its models together. */
  readonly tokens: number;
  /** When it was dispatched here, milliseconds since 1970. */
  readonly sinceMs: number;
}

/** A task that this process runs. */
export interface TaskHandle {
  /** The task as it was stored. */
  readonly task: TaskView;
  /** The task after its end, whatever its `status`. Never rejects. */
  readonly result: Promise<TaskView>;
  /**
   * Calls the listener with each event from now on; the returned function stops that. What a listener throws goes to
   * `report`. Never throws.
   */
  subscribe(listener: (event: TaskEvent) => void): () => void;
  /** Cancels it, running or queued; resolves when it has ended, at once when it already had. Never rejects. */
  cancel(): Promise<void>;
}
