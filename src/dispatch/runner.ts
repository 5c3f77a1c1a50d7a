// What carries out a task. Both of ours load this package in the child, so that it is an agent of the root task.
import type { TaskMembership } from "../task/context.ts";
import type { RunEvent } from "./run-log.ts";

export interface RunRequest {
  readonly taskId: string;
  /** The one user message. */
  readonly prompt: string;
  /** The same for every task. */
  readonly systemPrompt: string;
  /** Absolute; it exists. */
  readonly cwd: string;
  /** `provider/id`; null leaves it to the runner. */
  readonly model: string | null;
  /** Who the child is in the root task. */
  readonly membership: TaskMembership;
  /** Aborted when the run is to end: the runner then ends it soon, by force if it must. */
  readonly signal: AbortSignal;
  readonly onEvent: (event: RunEvent) => void;
}

export interface Runner {
  /** As `dispatch({ runner })` names it. */
  readonly name: string;
  /** Whether its models are outside the router: it then gets ordinary content only. */
  readonly choosesModels: boolean;
  /** Resolves when the child has ended; the newest answer is the result. Rejects, with the reason, when it failed. */
  run(request: RunRequest): Promise<void>;
}
