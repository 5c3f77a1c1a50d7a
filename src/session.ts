// The parts of one session, built when it starts: its index and windows, its notes, its settings. Holds no state of
// other sessions, and nothing that the log could say instead.
import { shownValue, TokenBudgetError } from "./errors.ts";
import { liveSource } from "./history/live.ts";
import type { ItemSource } from "./history/source.ts";
import type { HostContext } from "./host/api.ts";
import type { LogMessage } from "./host/entries.ts";
import { entriesOf, identityOf, projectSettingsCount } from "./host/host.ts";
import { settingsFiles } from "./host/settings-files.ts";
import type { RetrySettings } from "./host/settled.ts";
import { noteWarnings } from "./notes/limits.ts";
import { fullPath } from "./notes/paths.ts";
import { NotesStore } from "./notes/store.ts";
import { loadSettings, type Settings } from "./settings.ts";
import { ROOT_ADDRESS, resolveAddress } from "./task/addresses.ts";
import { storageLayout } from "./task/layout.ts";
import type { ContextToolParts } from "./tools/context.ts";
import type { NotesIndex } from "./window/bootstrap.ts";
import { budgetFigures, phaseOf } from "./window/budget.ts";
import { WindowShell } from "./window/shell.ts";

export interface SessionParts {
  readonly sessionId: string;
  readonly agent: string;
  readonly windows: WindowShell;
  /** What was wrong with the settings, one line each. */
  readonly problems: readonly string[];
  /** The context of the newest event. */
  context(): HostContext;
  attach(ctx: HostContext): void;
  enabled(): boolean;
  /** For the model in use. */
  settings(): Settings;
  retry(): RetrySettings;
  itemSource(agentName: string | undefined): ItemSource;
  notesOf(agent: string): NotesStore;
  contextToolParts(): ContextToolParts;
  /** The messages of the next request; undefined when they go out as they are. */
  request(messages: readonly LogMessage[]): Promise<readonly LogMessage[] | undefined>;
  /** Removes what killed processes left behind. */
  sweep(): void;
}

function unknownAgent(address: string): TokenBudgetError {
  return new TokenBudgetError(
    "unknown_agent",
    `No agent ${shownValue(address)} in this root task; there is ${ROOT_ADDRESS}. Leave agent_name out for yourself.`,
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

export function openSession(
  started: HostContext,
  agentDir: string,
  env: Readonly<Record<string, string | undefined>>,
): SessionParts {
  let ctx = started;
  const identity = identityOf(started);
  const agent = ROOT_ADDRESS;
  const loaded = loadSettings(settingsFiles(agentDir, started.cwd, projectSettingsCount(started)), env);
  const settings = () => loaded.forModel(ctx.model && `${ctx.model.provider}/${ctx.model.id}`);
  const layout = storageLayout(identity, agentDir);
  const notes = new NotesStore({ root: layout.notesRoot, agent, maxFileBytes: settings().notesMaxFileBytes });
  const entries = entriesOf(started);

  const ownNotes = (): NotesIndex => {
    try {
      const { rows } = notes.list({ orderBy: "updated_at", order: "descending" });
      return rows.map(({ path, bytes, updatedAt }) => ({ path: fullPath(agent, path), bytes, updated_at: updatedAt }));
    } catch {
      // An unreadable index does not stop a change; the bootstrap says so.
      return undefined;
    }
  };
  const windows = new WindowShell({
    source: entries,
    agent,
    // A root session names its root task: a new session or a fork is a new task, a resumed one finds its own.
    runId: identity.sessionId,
    createdAt: identity.createdAt,
    ownNotes,
  });
  const source = liveSource(agent, windows.branch, entries);
  const enabled = () => settings().enabled;

  return {
    sessionId: identity.sessionId,
    agent,
    windows,
    problems: loaded.problems,
    context: () => ctx,
    attach: (newest) => {
      ctx = newest;
    },
    enabled,
    settings,
    retry: () => loaded.retry,
    itemSource: (agentName) => {
      const address = resolveAddress(agent, agentName);
      if (address !== agent) throw unknownAgent(address);
      windows.refresh();
      return source;
    },
    notesOf: (address) => {
      if (address !== agent) throw unknownAgent(address);
      return notes;
    },
    contextToolParts: () => ({
      enabled,
      agent,
      windowId: () => {
        windows.refresh();
        return windows.branch.current.id;
      },
      figures: () => budgetFigures(ctx.getContextUsage(), windows.state(), settings().hardRolloverUsedTokens),
      phase: () => phaseOf(windows.state(), enabled()),
      agents: () => [agent],
      warnings: () => notesWarnings(notes),
      newContext: () => windows.newContext(),
    }),
    request: async (messages) => {
      windows.refresh();
      const opener = windows.branch.current.opener;
      const isUntouched = opener === undefined || opener.type === "foreign_compaction";
      // Switched off, a session keeps the windows it has but gets nothing new.
      return !enabled() && isUntouched ? undefined : windows.request(messages);
    },
    sweep: () => void notes.sweep(),
  };
}
