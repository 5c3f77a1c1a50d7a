// Wires the guard of categories to the host's events: at each place where the host would send something to a model, the
// session is put on a labelled model, or what was to be sent is stopped. Whatever fails here stops it too.
import { messageOf } from "../errors.ts";
import type { HostContext } from "../host/api.ts";
import { type Host, notify } from "../host/host.ts";
import { eventBeforeChoice, isVirtual, RequestModels, unsendable } from "../host/models.ts";
import { categoryGuidance } from "../prompts.ts";
import { showAnswer } from "../ui/answer.ts";
import { categoryCommand } from "../ui/category-command.ts";
import { CategoryGuard, type GuardedSession, type Placing, shownToPerson } from "./guard.ts";

const FAILED = "It could not be found out whether this content may go to this model, so nothing was sent.";

function show(ctx: HostContext, problem: string): void {
  notify(ctx, `pi-token-budget: ${problem}`, "error");
}

/** Puts the session on a labelled model, and tells the person what became of it. */
async function place({ notices }: Host, guard: CategoryGuard, ctx: HostContext): Promise<Placing> {
  const placing = await guard.place(ctx);
  tell(placing, (text, type) => notices.tell(ctx, text, type));
  return placing;
}

function tell(placing: Placing, say: (text: string, type: "error" | "info") => void): void {
  if (placing.type === "refused") say(`pi-token-budget: ${shownToPerson(placing.error)}`, "error");
  if (placing.type !== "changed") return;
  const { category, from, to } = placing;
  say(
    `pi-token-budget: this session is of category ${category}, so it uses ${to} and not ${from}. /category none allows any model, if this content is ordinary.`,
    "info",
  );
}

/**
 * To be called before the package's other handlers are registered, so that they see the right model. Returns what is to
 * be called after them: the first look at a session that has its parts, and the last look at each request.
 */
export function wireCategories(host: Host, sessionOf: (ctx: HostContext) => GuardedSession): () => void {
  const guard = new CategoryGuard({
    sessionOf,
    setModel: (model) => host.setModel(model),
    mark: (customType, data) => host.mark(customType, data),
  });
  const models = new RequestModels();
  wireSelections(host, guard, models);
  wireRuns(host, guard);
  wireSummaries(host, guard);
  host.registerCommand("category", categoryCommand(guard, showAnswer));
  return () => wireRequests(host, guard, models);
}

function wireSelections(host: Host, guard: CategoryGuard, models: RequestModels): void {
  // While the model is changed from here, the host tells of that change too: it is no other selection.
  let placing = false;
  host.on("model_select", async (event, ctx) => {
    models.selected(event, ctx);
    if (placing) return undefined;
    placing = true;
    try {
      const placed = await guard.place(ctx);
      // The host now says that the model it was given is in use: what is true comes last.
      setTimeout(() => tell(placed, (text, type) => notify(ctx, text, type)), 0);
    } finally {
      placing = false;
    }
    return undefined;
  });
}

function wireRuns(host: Host, guard: CategoryGuard): void {
  // 1.x asks a virtual model for the model behind it before a request can be stopped: such a prompt is not taken at all.
  host.on("input", async (_event, ctx) => {
    if (!ctx.model || !isVirtual(ctx.model)) return undefined;
    const { type } = await place(host, guard, ctx);
    return type === "refused" ? { action: "handled" } : undefined;
  });
  host.on("before_agent_start", async (event, ctx) => {
    // What fails here is tried again before the request, which is stopped then and says why.
    await guard.agree(ctx).catch(() => undefined);
    const placing = await guard.place(ctx);
    const standing = guard.standing(ctx);
    if (placing.type === "refused" || standing.type === "unknown" || standing.category === null) return undefined;
    const guidance = categoryGuidance(standing.category);
    return event.systemPrompt.includes(guidance) ? undefined : { systemPrompt: `${event.systemPrompt}\n\n${guidance}` };
  });
}

/** Requests that the host makes beside the loop. */
function wireSummaries(host: Host, guard: CategoryGuard): void {
  host.on(
    "session_before_compact",
    (_event, ctx) => {
      const problem = guard.problem(ctx, [ctx.model]);
      if (problem === undefined) return undefined;
      show(ctx, shownToPerson(problem));
      return { cancel: true };
    },
    { cancel: true },
  );
  host.on(
    "session_before_tree",
    async ({ preparation }, ctx) => {
      if (!preparation.userWantsSummary) return undefined;
      const { type } = await place(host, guard, ctx);
      return type === "refused" ? { cancel: true } : undefined;
    },
    { cancel: true },
  );
  host.on(
    "cache_warming_decision",
    (_event, ctx) => (guard.problem(ctx, [ctx.model]) === undefined ? undefined : { action: "stop" }),
    { action: "stop" },
  );
}

function wireRequests(host: Host, guard: CategoryGuard, models: RequestModels): void {
  let following = false;
  const follow = (ctx: HostContext) => {
    if (following) return;
    following = true;
    host.on(eventBeforeChoice(ctx), (_event, inTurn) => {
      models.nextIsOpen(inTurn);
      return undefined;
    });
  };
  host.on("session_start", async (_event, ctx) => {
    guard.started();
    follow(ctx);
    await place(host, guard, ctx);
    return undefined;
  });
  host.on(
    "context",
    async (_event, ctx) => {
      // The host has decided where this request goes; what is selected from here on is for the next one.
      const receivers = models.ofRequest(ctx);
      const problem = await stopReason(guard, ctx, () => guard.problem(ctx, receivers));
      if (problem === undefined) return undefined;
      show(ctx, problem);
      return { messages: unsendable(problem) };
    },
    { messages: unsendable(FAILED) },
  );
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
