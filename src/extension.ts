// The composition root: claims the session and makes the parts that listen to the host's events. No decisions here.
import type { ChildExtension } from "./dispatch/run/session-runner.ts";
import { TokenBudgetError } from "./errors.ts";
import { agentDirectory } from "./host/agent-dir.ts";
import type { HostApi } from "./host/api.ts";
import { notify } from "./host/context.ts";
import { claimSession, type SessionOwner, type StandingDown } from "./host/copies.ts";
import { Host } from "./host/host.ts";
import type { IsOverflow, OverflowJudge } from "./host/overflow.ts";
import { settingsFilesAtLoad } from "./host/settings-files.ts";
import { quietTickMs } from "./host/settled.ts";
import { getTokenBudgetTask } from "./launcher.ts";
import { assertObject, type CheckedObject, FILLED_TEXT, FUNCTION, OBJECT, optional } from "./options.ts";
import { callingHost } from "./packages/host.ts";
import { neededPackage, ownPackage } from "./packages/own.ts";
import { hasTaskTool, isDisabled, leftOutTools } from "./settings.ts";
import { isMembershipField, parseMembership, type TaskMembership } from "./task/context.ts";
import { Joining } from "./task/joining.ts";
import { SessionTodos } from "./ui/todo.ts";
import { boundarySteps } from "./wire/boundary.ts";
import { categorySteps } from "./wire/category.ts";
import { childrenSteps } from "./wire/children.ts";
import { registerCommands } from "./wire/commands.ts";
import { compactionSteps } from "./wire/compactions.ts";
import { listen } from "./wire/events.ts";
import { footerSteps } from "./wire/footer.ts";
import { journalSteps } from "./wire/journal.ts";
import { lifecycleSteps } from "./wire/lifecycle.ts";
import { loopSteps } from "./wire/loop.ts";
import { planSteps } from "./wire/plans.ts";
import { requiredTaskSteps } from "./wire/required.ts";
import { launcherSteps } from "./wire/root-task.ts";
import { Sessions, type Wiring } from "./wire/sessions.ts";
import { taskSteps } from "./wire/tasks.ts";
import { registerTools } from "./wire/tools.ts";

/** What `createTokenBudgetExtension` takes; each field may be left out. */
export interface TokenBudgetOptions {
  /**
   * Joins the session to the root task of another one: `{ ...task.context, parentAgentName?, agentName?, category?,
   * required? }`. Left out, the session is the root of a task of its own.
   */
  readonly task?: TaskMembership;
  /** For sessions with pi-subagents; left out, that is found by its tools. */
  readonly subagents?: {
    /** Absolute path of pi-subagents' folder, or of its module `required-child-extensions`; found by its tools when left out. */
    readonly modulePath?: string;
  };
  /**
   * Absolute path of the folder of this package, from which children load it; for programs that bundle it. Left out, it
   * is where this code is.
   */
  readonly packageDirectory?: string;
  /** Variables that are read instead of the environment of the process, which is read when left out. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * Called when the session could not join the root task that it was given, once, with the reason: `not_found` (no such
   * task), `name_collision`, `unknown_agent`, `refused`, `lock_unavailable` or `storage_failed`. Left out, the person and
   * the model are told anyway.
   */
  readonly onProblem?: (problem: TokenBudgetError) => void;
  /** Pi's own judgement of a response (pi-ai); without it the providers' usual words decide. */
  readonly isContextOverflow?: OverflowJudge;
}

/**
 * An extension factory as every supported Pi takes it (`extensionFactories`); the argument is Pi's extension interface.
 * It may be called for several sessions, one after another or at the same time.
 */
export type TokenBudgetExtension = (pi: object) => void;

const OPTIONS: CheckedObject = {
  of: "createTokenBudgetExtension",
  what: "the options",
  fields: {
    task: optional(OBJECT),
    subagents: optional(OBJECT),
    packageDirectory: optional(FILLED_TEXT),
    env: optional(OBJECT),
    onProblem: optional(FUNCTION),
    isContextOverflow: optional(FUNCTION),
  },
  meaning: (field) =>
    isMembershipField(field) || field === "context"
      ? ` It belongs to the task: pass { task: { ...task.context, ${field === "agentName" || field === "parentAgentName" ? field : "agentName"} } }.`
      : undefined,
};
const SUBAGENTS: CheckedObject = {
  of: OPTIONS.of,
  what: "subagents",
  fields: { modulePath: optional(FILLED_TEXT) },
};

/** Wrong options fail before a session starts, which would otherwise run without them. */
function assertOptions(options: TokenBudgetOptions): void {
  assertObject(options, OPTIONS);
  if (options.subagents !== undefined) assertObject(options.subagents, SUBAGENTS);
  if (!Object.hasOwn(options, "task") || options.task !== undefined) return;
  throw new TokenBudgetError(
    "invalid_argument",
    `${OPTIONS.of}: task is undefined; it must be { ...task.context, parentAgentName?, agentName? }. Leave it out for a session with a root task of its own.`,
  );
}

/**
 * Makes the extension: context windows, notes, history and the todo list for each session whose factory it is. Sessions
 * share no state but what a root task shares on disk.
 *
 * @throws TokenBudgetError `invalid_argument`, `unknown_field`, `missing_field`: an option, or a field of `task`, that there
 * is not or that has a wrong value; `invalid_address`: `parentAgentName` or `agentName`; `newer_format`: `task.version`.
 */
export function createTokenBudgetExtension(options: TokenBudgetOptions = {}): TokenBudgetExtension {
  assertOptions(options);
  const env = options.env ?? process.env;
  const { packageDirectory } = options;
  if (packageDirectory !== undefined) neededPackage(packageDirectory);
  const given = options.task === undefined ? undefined : parseMembership(options.task);
  return (pi) => {
    if (isDisabled(env)) return;
    const api = pi as HostApi;
    const joining = new Joining(given);
    const claim = claimSession(api, {
      version: ownPackage()?.version ?? "unknown",
      membership: given && { ...given },
      onMembership: (membership) => joining.take(membership),
    });
    // Another copy owns this session: nothing is registered twice.
    if (claim.type === "standing_down") return standDown(api, claim, options);
    try {
      const modulePath = options.subagents?.modulePath;
      const host = new Host(api, quietTickMs(env), options.isContextOverflow as IsOverflow | undefined);
      const { onProblem: _, ...shared } = options;
      const childExtension: ChildExtension = (task, onProblem) =>
        createTokenBudgetExtension({ ...shared, task, ...(onProblem === undefined ? {} : { onProblem }) });
      const surroundings = { adapter: undefined, asked: undefined, copies: () => claim.others() };
      const runningOn = callingHost();
      const wiring = { env, joining, modulePath, surroundings, runningOn, childExtension, packageDirectory };
      wire(host, claim, wiring, options);
    } catch (error) {
      // Some hosts keep the listeners of an extension that failed to load.
      claim.release();
      throw error;
    }
  };
}

/** A copy that stands down reports it only where what it was started with is lost. */
function standDown(
  api: HostApi,
  { handover }: StandingDown,
  { onProblem }: Pick<TokenBudgetOptions, "onProblem">,
): void {
  if (handover === undefined) return;
  const lost =
    handover.type === "refused" &&
    new TokenBudgetError("refused", `This session does not join its root task: ${handover.reason}.`);
  api.on("session_start", (_event, ctx) => {
    if (lost) notify(ctx, `pi-token-budget: ${lost.message}`, "warning");
    const problem = lost || getTokenBudgetTask(api)?.problem;
    if (problem) onProblem?.(problem);
    return undefined;
  });
}

/** Makes the parts of a session, and subscribes them to the host. */
function wire(
  host: Host,
  claim: SessionOwner,
  wiring: Wiring,
  { onProblem }: Pick<TokenBudgetOptions, "onProblem">,
): void {
  const { env, joining, surroundings } = wiring;
  const sessions = new Sessions(host, wiring);
  const todos = new SessionTodos(host, sessions);
  const category = categorySteps(
    host,
    (ctx) => sessions.of(ctx),
    (ctx) => sessions.of(ctx).windows.loop.nothingSent(),
    () => joining.membership?.category,
  );
  const settings = settingsFilesAtLoad(agentDirectory(env));
  registerTools(host, sessions, todos.tools, leftOutTools(settings));
  const launcher = launcherSteps(host, sessions, wiring);
  // A child of a task that gave out tasks itself would have no end.
  const tasks = taskSteps(host, sessions, wiring, joining.membership === undefined && hasTaskTool(settings));
  const boundary = boundarySteps(host, sessions);
  const footer = footerSteps(host, sessions, tasks.active);
  registerCommands(host, sessions, { drop: boundary.drop, redraw: footer.redraw, surroundings, env });
  listen(host, {
    lifecycle: lifecycleSteps(host, sessions, claim),
    launcher,
    journal: journalSteps(sessions),
    children: childrenSteps(host, sessions, wiring),
    tasks,
    loop: loopSteps(host, sessions),
    compactions: compactionSteps(host, sessions),
    boundary,
    footer,
    todos: todos.steps(),
    plans: planSteps(host, env),
    required: requiredTaskSteps(sessions, joining, onProblem),
    category,
  });
}
