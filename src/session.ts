// The parts of one session, built when it starts: its index and windows, its notes, its settings. Holds no state of
// other sessions, and nothing that the log could say instead.
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { AgentAccess } from "./agents.ts";
import { contentCategory } from "./category/guard.ts";
import type { CategoryModels } from "./category/labels.ts";
import { CategoryLog } from "./category/log.ts";
import { OwnerCategories } from "./category/owners.ts";
import { messageOf } from "./errors.ts";
import { liveSource } from "./history/live.ts";
import type { HostContext, SessionStartEvent } from "./host/api.ts";
import type { LogEntry, LogMessage } from "./host/entries.ts";
import {
  entriesOf,
  type Host,
  hasScreen,
  identityOf,
  lastWord,
  parentSessionOf,
  systemPromptOf,
  waitForEntry,
} from "./host/host.ts";
import { windowSize } from "./host/models.ts";
import { settingsFiles } from "./host/settings-files.ts";
import type { RetrySettings } from "./host/settled.ts";
import { ancestry } from "./log/ancestry.ts";
import type { BranchIndex } from "./log/branch.ts";
import { FORGET_ENTRY, forgottenBy, SWITCH_ENTRY, switchOf } from "./log/marks.ts";
import { noteWarnings } from "./notes/limits.ts";
import { fullPath, parseNotePath } from "./notes/paths.ts";
import { NotesStore, sweepNotes } from "./notes/store.ts";
import { type LoadedSettings, loadSettings, problemLines, type Settings } from "./settings.ts";
import { thisProcess } from "./storage/processes.ts";
import { oneLine, shorten } from "./storage/text.ts";
import type { Work } from "./storage/work.ts";
import { subagentIn } from "./subagents/child.ts";
import { missingTools } from "./subagents/diagnostics.ts";
import type { Category } from "./task/category.ts";
import type { TaskMembership } from "./task/context.ts";
import { endEphemeral, removeTask, sweepEphemeral } from "./task/forget.ts";
import { forkSource } from "./task/forks.ts";
import { type Ending, type ForkSource, openTask, type SessionTask } from "./task/membership.ts";
import type { RosterAgent } from "./task/roster.ts";
import { readArguments } from "./tools/arguments.ts";
import type { ContextToolParts } from "./tools/context.ts";
import type { ToolName } from "./tools/specs.ts";
import { Aside, asideText } from "./window/aside.ts";
import { NOTES_INDEX_MAX_FILES, type NotesIndex } from "./window/bootstrap.ts";
import { type BudgetFigures, budgetFigures } from "./window/budget.ts";
import { withoutRequests } from "./window/controls.ts";
import { Coordination } from "./window/coordination.ts";
import { LiveWindow } from "./window/live.ts";
import { type Phase, phaseOf } from "./window/phase.ts";
import { type SessionWindows, sessionWindows } from "./window/windows.ts";

export interface SessionParts {
  readonly sessionId: string;
  /** Absolute; undefined for a session in memory. */
  readonly sessionFile: string | undefined;
  /** When these parts were made; milliseconds since 1970. */
  readonly openedMs: number;
  readonly agent: string;
  readonly task: SessionTask;
  /** The other agents of the root task, and the own journal. */
  readonly access: AgentAccess;
  /** What this session's content is, the stricter of registry and log; throws when nobody can know. */
  category(): Category;
  /** Which models are labelled with which category. */
  readonly categories: CategoryModels;
  /** The index of the branch and the window machine, kept up with the log. */
  readonly live: LiveWindow;
  readonly windows: SessionWindows;
  /** The index of the branch, brought up to the log. */
  readonly branch: BranchIndex;
  readonly coordination: Coordination;
  /** What was wrong with the settings: one line per fault, the place of each once. */
  readonly problems: readonly string[];
  /** The context of the newest event. */
  context(): HostContext;
  attach(ctx: HostContext): void;
  enabled(): boolean;
  /** Whether windows have stepped aside in this session, and how they do. */
  readonly aside: Aside;
  /** Switches the package on or off in this session, and takes back what stands open. */
  turn(on: boolean): void;
  /** Whether a checkpoint could be saved here. */
  canCheckpoint(): boolean;
  /** For the model in use. */
  settings(): Settings;
  retry(): RetrySettings;
  /** Whether another process has this session open too; the person is told of each that comes. */
  isOpenElsewhere(): boolean;
  phase(): Phase;
  /** Tells other extensions of the session where its window stands. */
  publish(): void;
  contextToolParts(): ContextToolParts;
  figures(): BudgetFigures;
  /** What is odd about the branch, one line each. */
  oddities(): readonly string[];
  readonly loaded: LoadedSettings;
  visibleAgents(): { readonly agents: readonly string[]; readonly problems: readonly string[] };
  /** Learns what other agents were asked, within the time that an answer can wait. */
  readonly meet: AgentAccess["meet"];
  /** The agent's own. */
  readonly notes: NotesStore;
  /** The messages of the next request; undefined when they go out as they are. */
  request(messages: readonly LogMessage[]): Promise<readonly LogMessage[] | undefined>;
  /** What a starting session does once: left-overs are swept, a child registers, a fork gets its notes. */
  begin(): Promise<void>;
  /** Resolves when what the session has said so far can be read by others. */
  flush(): Promise<void>;
  /** The session ends: its journal is whole. */
  end(ending?: Ending): Promise<void>;
  /** Whether a person has asked for what it leaves to go when it ends. */
  goesAtEnd(): boolean;
  forgetAtEnd(): void;
  /** Behind the end, when nothing writes any more: what is not to stay is removed. */
  leave(): Promise<void>;
}

const WARNINGS_MAX = 5;
const APART_REASON_CODE_POINTS = 500;

/** A request or a list waits no longer than this for what its children were asked; their journals may be large. */
const MEETING_MAX_MS = 250;

/** The soft warnings about notes that have grown large; none when they cannot be listed. */
function notesWarnings(notes: NotesStore): readonly string[] {
  try {
    const { large, totalBytes } = notes.usage();
    const { agent, maxFileBytes } = notes;
    const files = large.map(({ path, bytes }) => ({ path: fullPath(agent, path), bytes, totalBytes: 0, maxFileBytes }));
    const all = { path: "", bytes: 0, totalBytes, maxFileBytes };
    return [...files, all].flatMap(noteWarnings).slice(-WARNINGS_MAX);
  } catch {
    return [];
  }
}

/** What is wrong with a path as one of the agent's own notes, as a sentence. */
function pathFault(agent: string, path: unknown): string | undefined {
  try {
    const owner = parseNotePath(String(path), agent).agent;
    return owner === agent ? undefined : `path names a note of ${owner}.`;
  } catch (error) {
    return messageOf(error);
  }
}

/** Whether a call's arguments are those of a tool of ours. */
function isValidCall(toolName: string, args: unknown): boolean {
  try {
    readArguments(toolName as ToolName, args);
    return true;
  } catch {
    return false;
  }
}

/** Windows whose opener was written with another number: part of the branch is missing or was edited. */
function miscounted(branch: BranchIndex): readonly string[] {
  const wrong = branch.windows.filter(({ writtenNumber }) => writtenNumber !== undefined);
  return wrong.map(({ id, writtenNumber }) => `${id} was written as w${writtenNumber}: part of this branch is missing`);
}

function openElsewhere(pid: number): string {
  return (
    `another Pi, process ${pid}, has this session open too. Both write the same session file and the same notes, ` +
    "checkpoint.md among them. Close one of them, or go on in a fork (pi --fork)."
  );
}

/** The tools of which a checkpoint needs one. */
const CHECKPOINT_TOOLS = ["notes_write_file", "notes_append_to_file"] as const;

export interface SessionOptions {
  readonly agentDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Joins the session to another one's root task. */
  readonly membership: TaskMembership | undefined;
  /** Long work of the session, by what it is. */
  readonly work: (what: "journal" | "notes", context: () => HostContext) => Work;
  /** How it was started; undefined when nobody said. */
  readonly start: SessionStartEvent | undefined;
}

/** The first entry of a forked branch is older than its session. */
function isForked(ctx: HostContext, { createdAt }: { readonly createdAt: number }): boolean {
  const entries = entriesOf(ctx);
  let oldest: LogEntry | undefined;
  for (const entry of ancestry(entries, entries.leafId())) oldest = entry;
  const written = Date.parse(String(oldest?.timestamp ?? ""));
  return written < createdAt;
}

type Fork = ForkSource | { readonly problem: string } | undefined;

/** What this session is a fork of. A child of a task is none, whatever its launcher copied into its branch. */
function forkOf(ctx: HostContext, { agentDir, membership, start }: SessionOptions): Fork {
  const identity = identityOf(ctx);
  const source = parentSessionOf(ctx) ?? (start?.reason === "fork" ? start.previousSessionFile : undefined);
  if (membership !== undefined || source === undefined) return undefined;
  if (start?.reason !== "fork" && !isForked(ctx, identity)) return undefined;
  try {
    return forkSource(identity, source, { agentDir });
  } catch (error) {
    return { problem: messageOf(error) };
  }
}

export function openSession(host: Host, started: HostContext, options: SessionOptions): SessionParts {
  const { agentDir, env, membership } = options;
  let ctx = started;
  const identity = identityOf(started);
  const { sessionId } = identity;
  let isCompacting = () => false;
  const report = (problem: string) => {
    if (isCompacting()) host.notices.hold();
    host.notices.tell(ctx, `pi-token-budget: ${problem}`, "warning");
  };
  const fork = forkOf(started, options);
  if (fork && "problem" in fork) report(fork.problem);
  const source = fork && "notesRoot" in fork ? fork : undefined;
  const owners = new OwnerCategories();
  const contentOf = (other: RosterAgent) => owners.of(other);
  const task = openTask({
    identity,
    agentDir,
    membership,
    category: source?.category,
    contentOf,
    subagent: subagentIn(systemPromptOf(started)),
    lacks: missingTools(host.activeTools(), host.ownTools()),
    report,
  });
  const { agent } = task;
  const loaded = loadSettings(settingsFiles(agentDir, started), env);
  const settings = () => loaded.forModel(ctx.model && `${ctx.model.provider}/${ctx.model.id}`);
  const notes = new NotesStore({ root: task.notesRoot, agent, maxFileBytes: settings().notesMaxFileBytes });
  const entries = entriesOf(started);
  const ownNotes = (): NotesIndex => {
    try {
      const { rows, total } = notes.list({ orderBy: "updated_at", order: "descending", limit: NOTES_INDEX_MAX_FILES });
      const shown = rows.map(({ path, bytes, updatedAt }) => ({
        path: fullPath(agent, path),
        bytes,
        // To the minute: a bootstrap pays for every digit.
        updated_at: `${updatedAt.slice(0, 16)}Z`,
      }));
      return { rows: shown, total };
    } catch {
      // An unreadable index does not stop a change; the bootstrap says so.
      return undefined;
    }
  };
  const aside = new Aside((reason) => {
    windows.loop.cancelRequests();
    publish();
    report(asideText(reason));
  });
  /** Told once: what the model was told of its place does not change under it. */
  let apart: { readonly reason: string | undefined } | undefined;
  // A person's last word in this session stands on the log and wins over the settings.
  const isSwitchedOn = () => switchOf(live.upToDate().lastCustom(SWITCH_ENTRY)?.entry) ?? settings().enabled;
  const enabled = (): boolean => aside.reason === undefined && isSwitchedOn();
  const canCheckpoint = (): boolean => enabled() && CHECKPOINT_TOOLS.some((name) => host.isActive(name));
  const live = new LiveWindow(entries, (path) => pathFault(agent, path) === undefined);
  const windows: SessionWindows = sessionWindows(live, {
    enabled,
    agent,
    runId: task.context.runId,
    apart: () => {
      apart ??= { reason: task.problem && shorten(oneLine(task.problem.message), APART_REASON_CODE_POINTS) };
      return apart.reason;
    },
    createdAt: identity.createdAt,
    ownNotes,
    children: () => access.children(),
    pathFault: (path) => pathFault(agent, path),
    canRun: (toolName, args) => host.isActive(toolName) && isValidCall(toolName, args),
    fenceMaxRequests: () => settings().fenceMaxRequests,
    canCheckpoint,
    stepAside: (reason) => aside.stepAside(reason),
    settings,
    reserveTokens: loaded.reserveTokens,
    keepRecentTokens: loaded.keepRecentTokens,
    contextWindow: () => windowSize(ctx),
    continues: () => coordination.owner === undefined,
    send: (message, delivery) => host.send(message, delivery),
    report,
    remark: (text) => {
      if (hasScreen(ctx)) host.notices.tellBehind(ctx, `pi-token-budget: ${text}`, "info");
    },
    mark: (customType, data) => host.mark(customType, data),
  });
  isCompacting = () => windows.compactions.compacting;
  const phase = () => phaseOf(live.state, enabled(), windows.compactions.compacting);
  const publish = () => coordination.publish(phase(), live.upToDate().current.id);
  const coordination = new Coordination(host.events, sessionId, () => publish());
  const history = liveSource(agent, live.upToDate(), entries);
  const categoryLog = new CategoryLog(entries);
  const category = () => contentCategory(task, categoryLog);
  const access = new AgentAccess({
    task,
    owners,
    ownNotes: notes,
    ownHistory: () => {
      live.refresh();
      return history;
    },
    entries,
    category,
    maxFileBytes: () => settings().notesMaxFileBytes,
    journalWork: options.work("journal", () => ctx),
    report,
  });
  /** Whose end is meant: a fork has its source's entries and may run in the same process. */
  const forgetter = () => {
    const { pid, start } = thisProcess();
    return { process: `${pid} ${start}`, session: sessionId };
  };
  /** Also when the branch no longer says so, and when the host has let go of the log. */
  let isForgotten = false;
  const goesAtEnd = () => {
    // A child's notes and journal are its root's to keep.
    if (task.parent !== null) return false;
    return isForgotten || isDeepStrictEqual(forgottenBy(live.upToDate().lastCustom(FORGET_ENTRY)?.entry), forgetter());
  };
  const visibleAgents = (): { readonly agents: readonly string[]; readonly problems: readonly string[] } => {
    try {
      return { agents: access.addresses(), problems: [] };
    } catch (error) {
      return { agents: [agent], problems: [messageOf(error)] };
    }
  };
  const meet: AgentAccess["meet"] = (which) =>
    Promise.race([access.meet(which), delay(MEETING_MAX_MS, undefined, { ref: false })]);
  let toldProcess: number | undefined;
  const isOpenElsewhere = () => {
    const other = task.otherProcess();
    if (other !== undefined && other !== toldProcess) report(openElsewhere(other));
    toldProcess = other;
    void task.stay();
    return other !== undefined;
  };
  const figures = () => budgetFigures(windows.watch.used(), windowSize(ctx), settings().hardRolloverUsedTokens);

  return {
    sessionId,
    sessionFile: identity.sessionFile,
    openedMs: Date.now(),
    agent,
    task,
    access,
    category,
    categories: loaded.categories,
    live,
    windows,
    get branch() {
      return live.upToDate();
    },
    coordination,
    problems: problemLines(loaded.problems),
    context: () => ctx,
    attach: (newest) => {
      ctx = newest;
    },
    enabled,
    aside,
    turn: (on) => {
      aside.lift();
      windows.loop.cancelRequests();
      host.mark(SWITCH_ENTRY, { on });
      if (canCheckpoint()) aside.stay(windows.watch.lacksRoom());
      publish();
    },
    canCheckpoint,
    settings,
    retry: () => loaded.retry,
    phase,
    publish,
    isOpenElsewhere,
    contextToolParts: () => ({
      enabled,
      agent,
      windowId: () => live.upToDate().current.id,
      figures,
      phase,
      agents: () => visibleAgents().agents,
      firstRequests: async () => {
        await meet("listed agents");
        return access.firstRequests();
      },
      warnings: () => [...visibleAgents().problems, ...notesWarnings(notes)],
      newContext: (toolCallId) => windows.loop.newContext(toolCallId),
      ownsContinuation: () => coordination.owner === undefined,
    }),
    figures,
    oddities: () => miscounted(live.upToDate()),
    loaded,
    visibleAgents,
    meet,
    notes,
    request: async (messages) => {
      const { opener } = live.upToDate().current;
      const isUntouched = opener === undefined || opener.type === "foreign_compaction";
      void access.announce();
      void access.sync();
      await meet("running children");
      void task.stay();
      // Switched off, a session keeps the windows it has but gets nothing new.
      if (!enabled() && isUntouched) return withoutRequests(messages);
      const projected = await windows.loop.request(messages, ctx.signal, (isMissing) => waitForEntry(ctx, isMissing));
      publish();
      return enabled() ? projected : withoutRequests(projected);
    },
    begin: async () => {
      try {
        notes.sweep();
        task.sweep();
        for (const root of task.otherNotes()) sweepNotes(root);
        isOpenElsewhere();
        const isKnown = task.registry.exists();
        // Before anything is removed here or by others: who is in the registry and does not say so counts as ended.
        if (isKnown || task.parent !== null) await task.join();
        await sweepEphemeral({ agentDir, own: task.context.storageRoot });
        const origin = task.copyOf ?? source;
        const isNewFork = origin !== undefined && task.parent === null && !isKnown;
        if (isNewFork && settings().forkCopiesNotes) {
          await notes.copyFrom(
            new NotesStore({ root: origin.notesRoot, agent: origin.agent }),
            options.work("notes", () => ctx),
          );
        }
        if (isNewFork) await task.join();
      } catch (error) {
        report(messageOf(error));
      }
      void access.sync();
    },
    flush: async () => {
      await host.written(ctx);
      await access.sync();
    },
    end: async (ending) => {
      isForgotten = goesAtEnd();
      coordination.close();
      await host.written(ctx);
      await access.end(ending);
    },
    goesAtEnd,
    forgetAtEnd: () => {
      isForgotten = true;
      // On the log, so that a reload knows it; a later process that resumes the session does not mean it.
      host.mark(FORGET_ENTRY, forgetter());
    },
    leave: async () => {
      if (task.parent !== null) return;
      if (isForgotten)
        await removeTask(task.context, { agentDir }).catch((error: unknown) =>
          lastWord(ctx, `pi-token-budget: ${messageOf(error)}`),
        );
      else await endEphemeral(task.context, { agentDir });
    },
  };
}
