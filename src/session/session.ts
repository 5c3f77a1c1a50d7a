// One session: it owns the index of its branch, its place in a root task, its notes, its windows and its access to other
// agents. It holds nothing of other sessions, and nothing that the log could say instead.
import { contentCategory } from "../category/guard.ts";
import type { CategoryModels } from "../category/labels.ts";
import { CATEGORY_ENTRY, categoryOf, type LogCategory } from "../category/log.ts";
import { OwnerCategories } from "../category/owners.ts";
import { messageOf } from "../errors.ts";
import { liveSource } from "../history/live.ts";
import type { HostContext } from "../host/api.ts";
import { entriesOf, identityOf, lastWord, systemPromptOf, waitForEntry } from "../host/context.ts";
import type { LogMessage } from "../host/entries.ts";
import type { Host } from "../host/host.ts";
import { knownModels, windowSize } from "../host/models.ts";
import { settingsFiles } from "../host/settings-files.ts";
import type { BranchIndex } from "../log/branch.ts";
import { SWITCH_ENTRY, switchOf } from "../log/marks.ts";
import { NotesStore } from "../notes/store.ts";
import { type LoadedSettings, loadSettings, problemLines, type Settings } from "../settings.ts";
import { unknownModels } from "../settings-models.ts";
import type { Work } from "../storage/work.ts";
import { subagentIn } from "../subagents/child.ts";
import { missingTools } from "../subagents/diagnostics.ts";
import type { Category } from "../task/category.ts";
import type { SessionTask } from "../task/membership.ts";
import { openTask } from "../task/open.ts";
import type { Ending } from "../task/presence.ts";
import type { ForkSource } from "../task/seats.ts";
import { Aside, asideText } from "../window/aside.ts";
import { type BudgetFigures, budgetFigures } from "../window/budget.ts";
import { withoutRequests } from "../window/controls.ts";
import { Coordination } from "../window/coordination.ts";
import { LiveWindow } from "../window/live.ts";
import { type Phase, phaseOf } from "../window/phase.ts";
import { type SessionWindows, sessionWindows } from "../window/windows.ts";
import { AgentAccess } from "./access.ts";
import { beginStorage } from "./beginning.ts";
import { Forgetting } from "./forgetting.ts";
import { type ForkFacts, forkedFrom } from "./fork.ts";
import { OtherProcessWatch } from "./other-process.ts";
import { OwnJournal } from "./own-journal.ts";
import { pathFault } from "./own-notes.ts";
import { windowParts } from "./window-parts.ts";

/** The tools of which a checkpoint needs one. */
const CHECKPOINT_TOOLS = ["notes_write_file", "notes_append_to_file"] as const;

export interface SessionOptions extends ForkFacts {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Progress of long work of the session, by its kind. */
  readonly work: (what: "journal" | "notes", context: () => HostContext) => Work;
}

export class Session {
  readonly sessionId: string;
  /** Absolute; undefined for a session in memory. */
  readonly sessionFile: string | undefined;
  /** When this was made; milliseconds since 1970. */
  readonly openedMs = Date.now();
  readonly agent: string;
  readonly task: SessionTask;
  readonly loaded: LoadedSettings;
  /** The agent's own. */
  readonly notes: NotesStore;
  /** The index of the branch and the window machine, kept up with the log. */
  readonly live: LiveWindow;
  readonly windows: SessionWindows;
  /** Whether windows have stepped aside in this session. */
  readonly aside: Aside;
  readonly coordination: Coordination;
  /** The other agents of the root task. */
  readonly access: AgentAccess;
  readonly journal: OwnJournal;
  readonly otherProcess: OtherProcessWatch;
  /** What becomes of its storage when it ends. */
  readonly forgetting: Forgetting;
  readonly #host: Host;
  readonly #options: SessionOptions;
  /** What this session is a fork of. */
  readonly #source: ForkSource | undefined;
  #ctx: HostContext;

  constructor(host: Host, ctx: HostContext, options: SessionOptions) {
    const { agentDir, membership, env, work } = options;
    const identity = identityOf(ctx);
    const report = (problem: string) => this.report(problem);
    const owners = new OwnerCategories();
    const entries = entriesOf(ctx);
    this.#host = host;
    this.#ctx = ctx;
    this.#options = options;
    this.sessionId = identity.sessionId;
    this.sessionFile = identity.sessionFile;
    this.#source = forkedFrom(ctx, options, report);
    this.task = openTask({
      identity,
      agentDir,
      membership,
      category: this.#source?.category,
      contentOf: (other) => owners.of(other),
      subagent: subagentIn(systemPromptOf(ctx)),
      lacks: missingTools(host.activeTools(), host.ownTools()),
      report,
    });
    this.agent = this.task.agent;
    this.loaded = loadSettings(settingsFiles(agentDir, ctx), env);
    const { notesMaxFileBytes: maxFileBytes } = this.settings();
    this.notes = new NotesStore({ root: this.task.notesRoot, agent: this.agent, maxFileBytes });
    this.aside = new Aside((reason) => {
      this.windows.loop.cancelRequests();
      this.publish();
      report(asideText(reason));
    });
    this.live = new LiveWindow(entries, (path) => pathFault(this.agent, path) === undefined);
    this.windows = sessionWindows(this.live, windowParts(this, host, identity.createdAt));
    this.coordination = new Coordination(host.events, this.sessionId, () => this.publish());
    this.otherProcess = new OtherProcessWatch(this.task.presence, identity.sessionFile, report);
    this.forgetting = new Forgetting({
      sessionId: this.sessionId,
      task: this.task,
      agentDir,
      branch: () => this.branch,
      mark: (customType, data) => host.mark(customType, data),
    });
    const history = liveSource(this.agent, this.live.branch, entries);
    this.access = new AgentAccess({
      task: this.task,
      owners,
      ownNotes: this.notes,
      ownHistory: () => {
        this.live.refresh();
        return history;
      },
      category: () => this.category(),
      maxFileBytes: () => this.settings().notesMaxFileBytes,
    });
    this.journal = new OwnJournal({
      task: this.task,
      entries,
      // What the content is others read there, also before anything is said.
      isEmpty: () => this.branch.rows.length === 0 && this.loggedCategory().type === "silent",
      work: work("journal", () => this.#ctx),
      report,
    });
  }

  // --- what it is now ---

  /** The context of the newest event. */
  context(): HostContext {
    return this.#ctx;
  }

  /** Takes the context of a new event of this session. */
  attach(ctx: HostContext): void {
    this.#ctx = ctx;
  }

  /** The index of the branch, up to date with the log. */
  get branch(): BranchIndex {
    return this.live.upToDate();
  }

  /** Which models are labelled with which category. */
  get categories(): CategoryModels {
    return this.loaded.categories;
  }

  /** For the model in use. */
  settings(): Settings {
    const { model } = this.#ctx;
    return this.loaded.forModel(model && `${model.provider}/${model.id}`);
  }

  /**
   * What is wrong with the settings, one line per fault. Other extensions may make models known later; a child has its own
   * choice of extensions, so it is asked of the root alone which models there are.
   */
  settingsProblems(): readonly string[] {
    if (this.task.parent !== null) return problemLines(this.loaded.problems);
    return [...problemLines(this.loaded.problems), ...unknownModels(this.loaded, () => knownModels(this.#ctx))];
  }

  /** Whether windows are on. What a person said last in this session is on the log and wins over the settings. */
  enabled(): boolean {
    if (this.aside.reason !== undefined) return false;
    return switchOf(this.branch.lastCustom(SWITCH_ENTRY)?.entry) ?? this.settings().enabled;
  }

  /** Whether a checkpoint could be saved here. */
  canCheckpoint(): boolean {
    return this.enabled() && CHECKPOINT_TOOLS.some((name) => this.#host.isActive(name));
  }

  phase(): Phase {
    return phaseOf(this.live.state, this.enabled(), this.windows.compactions.compacting);
  }

  figures(): BudgetFigures {
    return budgetFigures(this.windows.watch.used(), windowSize(this.#ctx), this.settings().hardRolloverUsedTokens);
  }

  /** What this session's content is, the stricter of registry and log; throws when that cannot be known. */
  category(): Category {
    return contentCategory(this.task, this.loggedCategory());
  }

  /** What the log alone says of it. */
  loggedCategory(): LogCategory {
    return categoryOf(this.live.upToDate().lastCustom(CATEGORY_ENTRY)?.entry);
  }

  // --- what it does ---

  /** Shows the person one line. */
  report(problem: string): void {
    // Undefined while this is being made.
    if (this.windows?.compactions.compacting) this.#host.notices.hold();
    this.#host.notices.show(this.#ctx, `pi-token-budget: ${problem}`, "warning");
  }

  /** Publishes the window's phase to other extensions of the session. */
  publish(): void {
    this.coordination.publish(this.phase(), this.branch.current.id);
  }

  /** Switches windows on or off in this session, and takes back what they still ask of the model. */
  switchWindows(on: boolean): void {
    this.aside.lift();
    this.windows.loop.cancelRequests();
    this.#host.mark(SWITCH_ENTRY, { on });
    if (this.canCheckpoint()) this.aside.stay(this.windows.watch.lacksRoom());
    this.publish();
  }

  /**
   * Warns of another process that has the session open too, and registers this one again when that one is gone. Called with each
   * request, and by a timer where a person watches.
   */
  watchProcesses({ isAtWork = false } = {}): void {
    this.otherProcess.look();
    void this.task.presence.stay({ isAtWork });
  }

  /** The messages of the next request; undefined when they go out as they are. */
  async request(messages: readonly LogMessage[]): Promise<readonly LogMessage[] | undefined> {
    const { opener } = this.branch.current;
    const isUntouched = opener === undefined || opener.type === "foreign_compaction";
    void this.journal.announce();
    void this.journal.sync();
    await this.access.meet("running children");
    this.watchProcesses({ isAtWork: true });
    // Switched off, a session keeps the windows it has but gets nothing new.
    if (!this.enabled() && isUntouched) return withoutRequests(messages);
    const ctx = this.#ctx;
    const projected = await this.windows.loop.request(messages, ctx.signal, (isMissing) =>
      waitForEntry(ctx, isMissing),
    );
    this.publish();
    return this.enabled() ? projected : withoutRequests(projected);
  }

  // --- its life ---

  /** What a starting session does once. */
  async begin(): Promise<void> {
    const { agentDir, work } = this.#options;
    const { task, notes } = this;
    try {
      this.otherProcess.look();
      await beginStorage({
        ...{ task, notes, agentDir },
        origin: task.copyOf ?? this.#source,
        copiesNotes: this.settings().forkCopiesNotes,
        work: () => work("notes", () => this.#ctx),
      });
    } catch (error) {
      this.report(messageOf(error));
    }
    void this.journal.sync();
  }

  /** Resolves when what the session has said so far can be read by others. */
  async flush(): Promise<void> {
    await this.#host.runs.written(this.#ctx);
    await this.journal.sync();
  }

  /** The session ends: its journal is whole. */
  async end(ending?: Ending): Promise<void> {
    this.forgetting.ends();
    this.coordination.close();
    await this.#host.runs.written(this.#ctx);
    await this.journal.end(ending);
  }

  /** After the end, when nothing is written any more: removes what is not to stay. */
  leave(): Promise<void> {
    return this.forgetting.leave((problem) => lastWord(this.#ctx, `pi-token-budget: ${problem}`));
  }
}
