// The parts of one session, built when it starts: its index and windows, its notes, its settings. Holds no state of
// other sessions, and nothing that the log could say instead.
import { shownValue, TokenBudgetError } from "./errors.ts";
import { liveSource } from "./history/live.ts";
import type { ItemSource } from "./history/source.ts";
import type { HostContext } from "./host/api.ts";
import type { LogMessage } from "./host/entries.ts";
import { entriesOf, type Host, identityOf, projectSettingsCount, waitForEntry } from "./host/host.ts";
import { settingsFiles } from "./host/settings-files.ts";
import type { RetrySettings } from "./host/settled.ts";
import type { BranchIndex } from "./log/branch.ts";
import { noteWarnings } from "./notes/limits.ts";
import { fullPath, parseNotePath } from "./notes/paths.ts";
import { NotesStore } from "./notes/store.ts";
import { loadSettings, type Settings } from "./settings.ts";
import { ROOT_ADDRESS, resolveAddress } from "./task/addresses.ts";
import { storageLayout } from "./task/layout.ts";
import type { ContextToolParts } from "./tools/context.ts";
import { NOTES_INDEX_MAX_FILES, type NotesIndex } from "./window/bootstrap.ts";
import { budgetFigures, thresholds } from "./window/budget.ts";
import { Coordination } from "./window/coordination.ts";
import { type Phase, phaseOf } from "./window/phase.ts";
import { WindowShell } from "./window/shell.ts";

export interface SessionParts {
  readonly sessionId: string;
  readonly agent: string;
  readonly windows: WindowShell;
  readonly coordination: Coordination;
  /** What was wrong with the settings, one line each. */
  readonly problems: readonly string[];
  /** The context of the newest event. */
  context(): HostContext;
  attach(ctx: HostContext): void;
  enabled(): boolean;
  /** Whether a checkpoint could be saved here. */
  canCheckpoint(): boolean;
  /** For the model in use. */
  settings(): Settings;
  retry(): RetrySettings;
  phase(): Phase;
  /** Tells other extensions of the session where its window stands. */
  publish(): void;
  itemSource(agentName: string | undefined): ItemSource;
  notesOf(agent: string): NotesStore;
  contextToolParts(): ContextToolParts;
  /** Lines for a person about the window and its budget. */
  describe(): readonly string[];
  /** The messages of the next request; undefined when they go out as they are. */
  request(messages: readonly LogMessage[]): Promise<readonly LogMessage[] | undefined>;
  /** Removes what killed processes left behind. */
  sweep(): void;
  close(): void;
}

function unknownAgent(address: string): TokenBudgetError {
  return new TokenBudgetError(
    "unknown_agent",
    `No agent ${shownValue(address)} in this root task; there is only ${ROOT_ADDRESS}, yourself.`,
  );
}

const WARNINGS_MAX = 5;

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

function isOwnNote(agent: string, path: unknown): boolean {
  try {
    return typeof path === "string" && parseNotePath(path, agent).agent === agent;
  } catch {
    // Not a path at all: the write itself says what is wrong with it, and under a fence it takes no claim.
    return false;
  }
}

/** Windows whose opener was written with another number: part of the branch is missing or was edited. */
function miscounted(branch: BranchIndex): readonly string[] {
  const wrong = branch.windows.filter(({ writtenNumber }) => writtenNumber !== undefined);
  return wrong.map(({ id, writtenNumber }) => `${id} was written as w${writtenNumber}: part of this branch is missing`);
}

/** The tools of which a checkpoint needs one. */
const CHECKPOINT_TOOLS = ["notes_write_file", "notes_append_to_file"] as const;

export interface SessionOptions {
  readonly agentDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export function openSession(host: Host, started: HostContext, { agentDir, env }: SessionOptions): SessionParts {
  let ctx = started;
  const identity = identityOf(started);
  const { sessionId } = identity;
  const agent = ROOT_ADDRESS;
  const loaded = loadSettings(settingsFiles(agentDir, started.cwd, projectSettingsCount(started)), env);
  const settings = () => loaded.forModel(ctx.model && `${ctx.model.provider}/${ctx.model.id}`);
  const enabled = () => settings().enabled;
  const layout = storageLayout(identity, agentDir);
  const notes = new NotesStore({ root: layout.notesRoot, agent, maxFileBytes: settings().notesMaxFileBytes });
  const entries = entriesOf(started);

  const ownNotes = (): NotesIndex => {
    try {
      const { rows, total } = notes.list({ orderBy: "updated_at", order: "descending", limit: NOTES_INDEX_MAX_FILES });
      const shown = rows.map(({ path, bytes, updatedAt }) => ({
        path: fullPath(agent, path),
        bytes,
        updated_at: updatedAt,
      }));
      return { rows: shown, total };
    } catch {
      // An unreadable index does not stop a change; the bootstrap says so.
      return undefined;
    }
  };
  const canCheckpoint = () => enabled() && CHECKPOINT_TOOLS.some((name) => host.isActive(name));
  const windows = new WindowShell({
    source: entries,
    agent,
    // A root session names its root task: a new session or a fork is a new task, a resumed one finds its own.
    runId: sessionId,
    createdAt: identity.createdAt,
    ownNotes,
    isOwnNote: (path) => isOwnNote(agent, path),
    canCheckpoint,
    settings,
    reserveTokens: loaded.reserveTokens,
    keepRecentTokens: loaded.keepRecentTokens,
    contextWindow: () => ctx.model?.contextWindow,
    continues: () => coordination.owner === undefined,
    send: (message, delivery) => host.send(message, delivery),
    mark: (customType, data) => host.mark(customType, data),
  });
  const phase = () => phaseOf(windows.state, enabled(), windows.compacting);
  const publish = () => coordination.publish(phase(), windows.branch.current.id);
  const coordination = new Coordination(host.events, sessionId, () => publish());
  const source = liveSource(agent, windows.branch, entries);
  const figures = () => budgetFigures(windows.used(), ctx.model?.contextWindow, settings().hardRolloverUsedTokens);

  return {
    sessionId,
    agent,
    windows,
    coordination,
    problems: loaded.problems,
    context: () => ctx,
    attach: (newest) => {
      ctx = newest;
    },
    enabled,
    canCheckpoint,
    settings,
    retry: () => loaded.retry,
    phase,
    publish,
    itemSource: (agentName) => {
      const address = resolveAddress(agent, agentName);
      if (address !== agent) throw unknownAgent(address);
      // Brings the index up to the log before anything is read from it.
      void windows.branch;
      return source;
    },
    notesOf: (address) => {
      if (address !== agent) throw unknownAgent(address);
      return notes;
    },
    contextToolParts: () => ({
      enabled,
      agent,
      windowId: () => windows.branch.current.id,
      figures,
      phase,
      agents: () => [agent],
      warnings: () => notesWarnings(notes),
      newContext: () => windows.newContext(),
      ownsContinuation: () => coordination.owner === undefined,
    }),
    describe: () => {
      const { used_tokens, remaining_tokens, remaining_to_hard_trigger } = figures();
      const window = ctx.model?.contextWindow;
      const shown = (tokens: number | null) => (tokens === null ? "unknown" : `${tokens} tokens`);
      const limits = window === undefined ? undefined : thresholds(window, loaded.reserveTokens, settings());
      return [
        `Window ${windows.branch.current.id} of ${agent}, ${phase()}`,
        `Used ${shown(used_tokens)}, left ${shown(remaining_tokens)}${window === undefined ? "" : ` of ${window}`}`,
        ...(limits ? [`Reminder with ${limits.reminder} tokens left, checkpoint with ${limits.fallback} left`] : []),
        ...(remaining_to_hard_trigger === null ? [] : [`Hard trigger in ${remaining_to_hard_trigger} tokens`]),
        ...miscounted(windows.branch),
        `Notes in ${layout.notesRoot}`,
      ];
    },
    request: async (messages) => {
      const { opener } = windows.branch.current;
      const isUntouched = opener === undefined || opener.type === "foreign_compaction";
      // Switched off, a session keeps the windows it has but gets nothing new.
      if (!enabled() && isUntouched) return undefined;
      const projected = await windows.request(messages, ctx.signal, (isMissing) => waitForEntry(ctx, isMissing));
      publish();
      return projected;
    },
    sweep: () => void notes.sweep(),
    close: () => coordination.close(),
  };
}
