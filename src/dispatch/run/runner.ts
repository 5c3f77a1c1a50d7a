// What carries out a task. Both of ours load this package in the child, so that it is an agent of the root task.
import type { TaskMembership } from "../../task/context.ts";
import type { RunEvent } from "./run-log.ts";

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
  /** Who the child is in the root task: for `createTokenBudgetExtension({ task })` in the child. */
  readonly membership: TaskMembership;
  /** Aborted when the run is to end: the runner then ends it soon, by force if it must. */
  readonly signal: AbortSignal;
  /** To be told what happens, in order. */
  readonly onEvent: (event: RunEvent) => void;
}

/** Carries out tasks. */
export interface Runner {
  /** As `dispatch({ runner })` names it. */
  readonly name: string;
  /** Whether its models are outside the router: it then gets ordinary content only. */
  readonly choosesModels: boolean;
  /**
   * Resolves when the child has ended; the newest answer is the result.
   *
   * @throws (rejects) with the reason, when it failed.
   */
  run(request: RunRequest): Promise<void>;
}
