// A session that was given a root task and could not join it: the program is told, and where the task is required nothing
// is sent to a model.
import type { TokenBudgetError } from "../errors.ts";
import type { Host } from "../host/host.ts";
import { unsendable } from "../host/models.ts";
import type { Joining } from "../task/joining.ts";
import type { CurrentSession } from "./current.ts";

export function wireJoining(
  host: Host,
  session: CurrentSession,
  joining: Joining,
  onProblem: ((problem: TokenBudgetError) => void) | undefined,
): void {
  const isRequired = () => joining.membership?.required === true;
  host.onStart((ctx) => {
    const { problem } = session.of(ctx).task;
    if (problem === undefined || joining.membership === undefined) return;
    onProblem?.(problem);
    // The host tells the program by `onError`; it goes on by itself.
    if (isRequired()) throw problem;
  });
  host.on("context", (_event, ctx) => {
    const { problem } = session.of(ctx).task;
    return problem && isRequired() ? { messages: unsendable(problem.message) } : undefined;
  });
}
