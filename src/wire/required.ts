// A session that was given a root task and could not join it: the program is informed, and where the task is required nothing
// is sent to a model.
import type { TokenBudgetError } from "../errors.ts";
import type { HostContext } from "../host/api.ts";
import type { Step } from "../host/host.ts";
import { unsendable } from "../host/models.ts";
import type { Joining } from "../task/joining.ts";
import type { Sessions } from "./sessions.ts";

export function requiredTaskSteps(
  sessions: Sessions,
  joining: Joining,
  onProblem: ((problem: TokenBudgetError) => void) | undefined,
) {
  const isRequired = () => joining.membership?.required === true;
  const check: Step<"session_start"> = {
    run: (_event, ctx) => {
      const { problem } = sessions.of(ctx).task;
      if (problem === undefined || joining.membership === undefined) return;
      onProblem?.(problem);
      // The host tells the program by `onError`; it continues by itself.
      if (isRequired()) throw problem;
    },
    throws: true,
  };
  return {
    check,
    stopRequest: (_event: object, ctx: HostContext) => {
      const { problem } = sessions.of(ctx).task;
      if (!problem || !isRequired()) return undefined;
      sessions.of(ctx).windows.loop.nothingSent();
      return { messages: unsendable(problem.message) };
    },
  };
}
