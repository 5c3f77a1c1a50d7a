// The guard of categories at the host's events: at each place where the host would send something to a model, the
// session is put on a labelled model, or what was to be sent is stopped. Whatever fails here stops it too.

import { CategoryGuard, type GuardedSession, type ModelChoice, shownToPerson } from "../category/guard.ts";
import { messageOf } from "../errors.ts";
import type { HostContext, ModelSelectEvent } from "../host/api.ts";
import { notify } from "../host/context.ts";
import type { Host, Step } from "../host/host.ts";
import { eventBeforeChoice, isVirtual, RequestModels, unsendable } from "../host/models.ts";
import { categoryGuidance } from "../prompts.ts";
import type { Category } from "../task/category.ts";
import { answersOn } from "../ui/answer.ts";
import { categoryCommand } from "../ui/category-command.ts";

const FAILED = "Whether this content may go to this model is unknown, so nothing was sent.";

function show(ctx: HostContext, problem: string): void {
  notify(ctx, `pi-token-budget: ${problem}`, "error");
}

/** Puts the session on a labelled model, and tells the person the outcome. */
async function chooseModel({ notices }: Host, guard: CategoryGuard, ctx: HostContext): Promise<ModelChoice> {
  const choice = await guard.chooseModel(ctx);
  announce(choice, (text, type) => notices.show(ctx, text, type));
  return choice;
}

function announce(choice: ModelChoice, say: (text: string, type: "error" | "info") => void): void {
  if (choice.type === "refused") say(`pi-token-budget: ${shownToPerson(choice.error)}`, "error");
  if (choice.type !== "changed") return;
  const { category, from, to } = choice;
  say(
    `pi-token-budget: this session is of category ${category}, so it uses ${to} and not ${from}. /category none allows any model, if this content is ordinary.`,
    "info",
  );
}

/** The steps of the guard at the host's events. It puts a session on a labelled model before others look at its model. */
export function categorySteps(
  host: Host,
  sessionOf: (ctx: HostContext) => GuardedSession,
  nothingSent: (ctx: HostContext) => void,
  declared: () => Category | undefined,
) {
  const guard = new CategoryGuard({
    sessionOf,
    setModel: (model) => host.setModel(model),
    mark: (customType, data) => host.mark(customType, data),
  });
  const models = new RequestModels();
  host.registerCommand("category", categoryCommand(guard, answersOn(host.answers).show));
  return {
    ...selectionSteps(guard, models),
    ...runSteps(host, guard),
    ...summarySteps(host, guard),
    ...requestSteps(host, guard, models, { nothingSent, declared }),
  };
}

function selectionSteps(guard: CategoryGuard, models: RequestModels) {
  // The host reports a change made from here too: it is no selection by a person.
  let isChoosing = false;
  return {
    modelSelected: async (event: ModelSelectEvent, ctx: HostContext) => {
      models.selected(event, ctx);
      if (isChoosing) return;
      isChoosing = true;
      try {
        const choice = await guard.chooseModel(ctx);
        // The host now reports the model it was given as the one in use: the true one is reported last.
        setTimeout(() => announce(choice, (text, type) => notify(ctx, text, type)), 0);
      } finally {
        isChoosing = false;
      }
    },
  };
}

function runSteps(host: Host, guard: CategoryGuard) {
  return {
    // 1.x asks a virtual model for the model behind it before a request can be stopped: such a prompt is not taken at all.
    promptComes: async (_event: object, ctx: HostContext) => {
      if (!ctx.model || !isVirtual(ctx.model)) return undefined;
      const { type } = await chooseModel(host, guard, ctx);
      return type === "refused" ? ({ action: "handled" } as const) : undefined;
    },
    runBegins: async (event: { readonly systemPrompt: string }, ctx: HostContext) => {
      // What fails here is tried again before the request, which is stopped then and says why.
      await guard.agree(ctx).catch(() => undefined);
      const choice = await guard.chooseModel(ctx);
      const classification = guard.classification(ctx);
      if (choice.type === "refused" || classification.type === "unknown" || classification.category === null)
        return undefined;
      const guidance = categoryGuidance(classification.category);
      if (event.systemPrompt.includes(guidance)) return undefined;
      return { systemPrompt: `${event.systemPrompt}\n\n${guidance}` };
    },
  };
}

/** Requests that the host makes outside the loop. */
function summarySteps(host: Host, guard: CategoryGuard) {
  const compactionStarts: Step<"session_before_compact"> = {
    run: (_event, ctx) => {
      const problem = guard.problem(ctx, [ctx.model]);
      if (problem === undefined) return undefined;
      show(ctx, shownToPerson(problem));
      return { cancel: true };
    },
    otherwise: { cancel: true },
  };
  const treeIsWalked: Step<"session_before_tree"> = {
    run: async ({ preparation }, ctx) => {
      if (!preparation.userWantsSummary) return undefined;
      const { type } = await chooseModel(host, guard, ctx);
      return type === "refused" ? { cancel: true } : undefined;
    },
    otherwise: { cancel: true },
  };
  const cacheIsWarmed: Step<"cache_warming_decision"> = {
    run: (_event, ctx) => (guard.problem(ctx, [ctx.model]) === undefined ? undefined : { action: "stop" }),
    otherwise: { action: "stop" },
  };
  return { compactionStarts, treeIsWalked, cacheIsWarmed };
}

interface RequestParts {
  readonly nothingSent: (ctx: HostContext) => void;
  /** What a child was declared to be by who started it; undefined where it was not. */
  readonly declared: () => Category | undefined;
}

function requestSteps(
  host: Host,
  guard: CategoryGuard,
  models: RequestModels,
  { nothingSent, declared }: RequestParts,
) {
  let isFollowing = false;
  /** Which event comes last before the host chooses a model is only known in a session. */
  const follow = (ctx: HostContext) => {
    if (isFollowing) return;
    isFollowing = true;
    host.at(eventBeforeChoice(ctx), (_event, inTurn) => models.nextIsOpen(inTurn));
  };
  const requestGoes: Step<"context"> = {
    run: async (_event, ctx) => {
      // The host has decided where this request goes; what is selected from here on is for the next one.
      const receivers = models.ofRequest(ctx);
      const problem = await stopReason(guard, ctx, () => guard.problem(ctx, receivers));
      if (problem === undefined) return undefined;
      show(ctx, problem);
      nothingSent(ctx);
      return { messages: unsendable(problem) };
    },
    otherwise: { messages: unsendable(FAILED) },
  };
  return {
    sessionStarted: async (_event: object, ctx: HostContext) => {
      follow(ctx);
      // From a child's first entry on, so that no edit of the registry takes it away before its first prompt.
      guard.sayDeclared(ctx, declared() ?? null);
      if (guard.isChild(ctx)) await guard.agree(ctx).catch(() => undefined);
      await chooseModel(host, guard, ctx);
    },
    requestGoes,
  };
}

async function stopReason(
  guard: CategoryGuard,
  ctx: HostContext,
  problem: () => Error | undefined,
): Promise<string | undefined> {
  try {
    await guard.agree(ctx);
  } catch (error) {
    return `Nothing was sent, since the category of this session's content could not be written down for other agents: ${messageOf(error)}`;
  }
  const stopping = problem();
  return stopping && shownToPerson(stopping);
}
