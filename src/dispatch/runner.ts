// The interface of runners, which carry out tasks. Types only.
import type { TaskMembership } from "../task/context.ts";
import type { RunUsage } from "./task-view.ts";

/** What a runner reports while it runs; each event is a sign of life too. */
export type RunEvent =
  | {
      readonly type: "step";
      /** What was done, for the record: made one line, cut at 500 characters; the newest 200 are kept. */
      readonly text: string;
    }
  | {
      readonly type: "progress";
      /** What is being done now: made one line, cut at 500 characters. */
      readonly text: string;
    }
  | {
      readonly type: "answer";
      /** The newest answer; the last one is the result, at most 200,000 characters of it. */
      readonly text: string;
      /** Why this is not an answer: a run whose last answer has it has failed. Left out for an answer. */
      readonly error?: string;
    }
  | {
      readonly type: "usage";
      /** What a model did since the last such event. */
      readonly usage: RunUsage;
    }
  | { readonly type: "alive" };

/** A task to be carried out. */
export interface RunRequest {
  /** Id of the task. */
  readonly taskId: string;
  /** The child's one user message. */
  readonly prompt: string;
  /** The child's system prompt, the same for every task. */
  readonly systemPrompt: string;
  /** Absolute path of the directory to work in; it exists. */
  readonly cwd: string;
  /** `provider/id`; null leaves it to the runner. */
  readonly model: string | null;
  /** The child's place in the root task: for `createTokenBudgetExtension({ task })` in the child. */
  readonly membership: TaskMembership;
  /** Aborted when the run is to end: the runner then ends it soon, by force if it must. */
  readonly signal: AbortSignal;
  /** To be called with each event, in order. */
  readonly onEvent: (event: RunEvent) => void;
}

/** A task that is about to be accepted. */
export interface SandboxQuestion {
  /** Absolute path of the directory that was named for it; null for a fresh one. */
  readonly cwd: string | null;
}

/** Carries out tasks. The runners `session` and `cli` load this package in the child, which makes it an agent of the root task. */
export interface Runner {
  /** As `dispatch({ runner })` names it. */
  readonly name: string;
  /** Whether it bypasses the model router: it then gets ordinary content only. */
  readonly choosesModels: boolean;
  /**
   * The sandbox in which it runs a task, as records name it; null for none. Asked before the task is stored; nothing
   * confines its children when left out.
   *
   * @throws (rejects) with what to do about it, where no task can run in it.
   */
  sandbox?(task: SandboxQuestion): Promise<string | null>;
  /**
   * Resolves when the child has ended; the newest answer is the result.
   *
   * @throws (rejects) with the reason, when it failed.
   */
  run(request: RunRequest): Promise<void>;
}
