// get_context_remaining and new_context: thin, over the live window.
import { TokenBudgetError } from "../errors.ts";
import { newContextDisabledReason } from "../prompts.ts";
import type { BudgetFigures } from "../window/budget.ts";
import type { NewContext } from "../window/loop.ts";
import type { Phase } from "../window/phase.ts";
import type { Execute } from "./define.ts";

export interface ContextToolParts {
  readonly enabled: () => boolean;
  readonly agent: string;
  readonly windowId: () => string;
  readonly figures: () => BudgetFigures;
  readonly phase: () => Phase;
  /** The addresses this agent may see. */
  readonly agents: () => readonly string[];
  /** The first request of each agent whose first request is known, by address. */
  readonly firstRequests: () => Promise<Readonly<Record<string, string>>>;
  /** Soft warnings about notes that have grown large. */
  readonly warnings: () => readonly string[];
  readonly newContext: (toolCallId: string) => NewContext;
  /** Whether this package continues after a change; otherwise the run ends here and another extension resumes. */
  readonly ownsContinuation: () => boolean;
}

export interface ContextTools {
  readonly get_context_remaining: Execute<"get_context_remaining">;
  readonly new_context: Execute<"new_context">;
}

export function contextTools(parts: () => ContextToolParts): ContextTools {
  return {
    get_context_remaining: async () => {
      const { agent, windowId, figures, phase, agents, firstRequests, warnings } = parts();
      const requests = await firstRequests().catch(() => ({}));
      const notices = warnings();
      const answer = {
        agent,
        window_id: windowId(),
        ...figures(),
        phase: phase(),
        agents: agents(),
        ...(Object.keys(requests).length === 0 ? {} : { first_requests: requests }),
        ...(notices.length === 0 ? {} : { warnings: notices }),
      };
      return { text: JSON.stringify(answer), details: answer };
    },
    new_context: (_params, { id }) => {
      const { enabled, newContext, windowId, ownsContinuation } = parts();
      if (!enabled()) throw new TokenBudgetError("refused", newContextDisabledReason());
      const outcome = newContext(id);
      switch (outcome.type) {
        case "refused":
          throw new TokenBudgetError("refused", outcome.reason);
        case "nothing_to_leave": {
          const answer = { opened: false, window_id: windowId() };
          return { text: JSON.stringify(answer), details: answer };
        }
        case "opened": {
          const answer = { opened: true, window_id: outcome.details.opens };
          const details = { ...answer, ...outcome.details };
          return { text: JSON.stringify(answer), details, ...(ownsContinuation() ? {} : { terminate: true }) };
        }
      }
    },
  };
}
