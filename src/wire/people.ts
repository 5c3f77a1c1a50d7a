// What people see: the status line and the commands. What they say is made in src/ui.

import type { ListedAgent } from "../agents.ts";
import { messageOf } from "../errors.ts";
import { HistoryReader } from "../history/reader.ts";
import { agentDirectory } from "../host/agent-dir.ts";
import type { HostContext } from "../host/api.ts";
import { endsWithRun, type Host } from "../host/host.ts";
import { selectedModel, windowSize } from "../host/models.ts";
import { showStatus } from "../host/status.ts";
import { hasTerminal } from "../host/widget.ts";
import { isWithoutNote } from "../log/marks.ts";
import type { SessionParts } from "../session.ts";
import { agentLines } from "../ui/agents.ts";
import { showAnswer } from "../ui/answer.ts";
import { type CommandName, type CommandParts, defineCommand, usageOf } from "../ui/commands.ts";
import { contextText } from "../ui/context.ts";
import { type NotesView, noteCompletions, notesAt, notesOverview } from "../ui/notes.ts";
import { statusText } from "../ui/status.ts";
import { windowChoices, windowsText } from "../ui/windows.ts";
import { asideText } from "../window/aside.ts";
import type { DropClosedWindows } from "./boundary.ts";
import { openWindow, openWithoutNote } from "./compactions.ts";
import type { CurrentSession } from "./current.ts";
import { examine, type Surroundings } from "./doctor.ts";
import { forget, forgettable } from "./forget.ts";

/** The key of the footer line. */
export const STATUS_KEY = "pi-token-budget";

/** Other processes start and end children, and hosts tell of some changes late or not at all: so often it is looked at. */
const STATUS_LOOK_MS = 500;

function categoryOf(parts: SessionParts): string | undefined {
  try {
    return parts.category() ?? undefined;
  } catch {
    return "category unknown";
  }
}

function statusOf(parts: SessionParts): string | undefined {
  const { branch, live, windows, aside, access } = parts;
  const { id, opener } = branch.current;
  const ctx = parts.context();
  return statusText({
    windowId: id,
    phase: parts.phase(),
    contextWindow: windowSize(ctx),
    usedTokens: windows.watch.used(),
    isIdle: ctx.isIdle() && live.state.live.manual === undefined,
    isWithoutNote: opener !== undefined && isWithoutNote(opener),
    aside: aside.reason?.short,
    isOpenElsewhere: parts.isOpenElsewhere(),
    children: access.children().length,
    category: categoryOf(parts),
  });
}

/** The footer line follows the session: drawn after whatever may have changed it, and only when it has changed. */
export function wireStatus(host: Host, session: CurrentSession): (ctx: HostContext) => void {
  let drawn: string | undefined;
  let looking: NodeJS.Timeout | undefined;
  const redraw = (ctx: HostContext) => {
    if (!ctx.hasUI) return;
    const text = statusOf(session.of(ctx));
    if (text !== drawn) showStatus(ctx, STATUS_KEY, text);
    drawn = text;
  };
  const look = () => {
    try {
      redraw(session.running.context());
    } catch {
      // The session is gone, or cannot be read now.
    }
  };
  const draw = (_event: object, ctx: HostContext): undefined => {
    redraw(ctx);
    return undefined;
  };
  // The host has emptied its footer.
  host.on("session_start", (event, ctx) => {
    // The last of ours: it draws what the session holds as soon as all have answered.
    host.notices.release();
    drawn = undefined;
    clearInterval(looking);
    looking = hasTerminal(ctx) ? setInterval(look, STATUS_LOOK_MS) : undefined;
    looking?.unref();
    return draw(event, ctx);
  });
  host.on("session_shutdown", () => {
    clearInterval(looking);
    return undefined;
  });
  host.on("context", draw);
  host.on("tool_result", draw);
  host.on("agent_end", draw);
  host.on("agent_settled", draw);
  host.on("session_tree", draw);
  host.on("session_before_compact", draw);
  host.on("session_compact", draw);
  host.on("model_select", draw);
  return redraw;
}

/** What is known of the other agents; nothing when the registry cannot be read. */
function othersOf({ access }: SessionParts): readonly ListedAgent[] {
  try {
    return access.others().agents;
  } catch {
    // The list of agents beside it says what is wrong.
    return [];
  }
}

async function contextOf(parts: SessionParts): Promise<string> {
  await parts.meet("listed agents");
  const model = selectedModel(parts.context());
  return contextText({
    windowId: parts.branch.current.id,
    agent: parts.agent,
    phase: parts.phase(),
    aside: parts.aside.reason,
    figures: parts.figures(),
    model: model && `${model.provider}/${model.id}`,
    contextWindow: model && windowSize({ model }),
    settings: parts.settings(),
    loaded: parts.loaded,
    oddities: parts.oddities(),
    agents: parts.visibleAgents().agents,
    agentLines: agentLines(othersOf(parts)),
    notesRoot: parts.task.notesRoot,
    storageRoot: parts.task.context.storageRoot,
  });
}

function notesView(parts: SessionParts): NotesView {
  return {
    agent: parts.agent,
    agents: parts.visibleAgents().agents,
    notesOf: (agent) => parts.access.notesToRead(agent),
  };
}

/** Whether windows are kept, and who said so. */
function standing(parts: SessionParts): string {
  const isOn = parts.enabled();
  const { enabled } = parts.settings();
  if (parts.aside.reason) return asideText(parts.aside.reason);
  const by = isOn === enabled ? "" : `, by /token-budget ${isOn ? "on" : "off"}`;
  if (isOn) return `Windows are on in this session${by}.`;
  const setting = by === "" ? `, by the setting enabled (${parts.loaded.originOf("enabled", undefined)})` : by;
  return `Windows are off in this session${setting}: Pi compacts by itself. /token-budget on keeps windows.`;
}

async function turn(parts: SessionParts, on: boolean, ctx: HostContext, drop: DropClosedWindows): Promise<string> {
  // Off by a person's word outlasts stepping aside.
  const isSaid = on || parts.aside.reason === undefined;
  if (parts.enabled() === on && isSaid) return `Windows are ${on ? "kept" : "off"} in this session already.`;
  parts.turn(on);
  if (on) return parts.aside.reason ? asideText(parts.aside.reason) : "Windows are kept in this session again.";
  if (!endsWithRun(ctx) && ctx.isIdle()) await drop(parts.windows, ctx);
  return "Off in this session: Pi compacts by itself. Notes and history stay; /token-budget on keeps windows again.";
}

export interface CommandWiring {
  readonly drop: DropClosedWindows;
  readonly redraw: (ctx: HostContext) => void;
  readonly surroundings: Surroundings;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export function wireCommands(
  host: Host,
  session: CurrentSession,
  { drop, redraw, surroundings, env }: CommandWiring,
): void {
  let reader: HistoryReader | undefined;
  // What is drawn beside an answer never takes its place.
  const tryRedraw = (ctx: HostContext) => {
    try {
      redraw(ctx);
    } catch {
      // The next event draws it again.
    }
  };
  const command = (name: CommandName, { answer, complete }: Pick<CommandParts, "answer" | "complete">) => {
    const guarded: CommandParts["answer"] = async (argument, ctx) => {
      try {
        return await answer(argument, ctx);
      } catch (error) {
        return messageOf(error);
      } finally {
        tryRedraw(ctx);
      }
    };
    host.registerCommand(
      name,
      defineCommand(name, { answer: guarded, show: showAnswer, ...(complete ? { complete } : {}) }),
    );
  };
  command("context", {
    answer: (argument, ctx) => {
      if (argument === "") return contextOf(session.of(ctx));
      if (/^new\b/.test(argument) && !session.of(ctx).enabled()) return standing(session.of(ctx));
      if (/^new\s+--without-note$/.test(argument)) return openWithoutNote(session.of(ctx), ctx);
      // Another option is a slip, no instruction.
      const [, instructions] = /^new(?:\s+(?!--)(.+))?$/s.exec(argument) ?? [];
      const isNew = argument === "new" || instructions !== undefined;
      return isNew ? openWindow(host, session.of(ctx), ctx, instructions) : undefined;
    },
  });
  command("notes", {
    answer: (argument, ctx) => {
      const view = notesView(session.of(ctx));
      return argument === "" ? notesOverview(view) : notesAt(view, argument);
    },
    complete: (prefix) => noteCompletions(notesView(session.running), prefix),
  });
  command("windows", {
    answer: async (argument, ctx) => {
      reader ??= new HistoryReader();
      return windowsText(reader, await session.of(ctx).access.historyOf(undefined), argument);
    },
    complete: async (prefix) => windowChoices(await session.running.access.historyOf(undefined), prefix),
  });
  command("token-budget", {
    answer: (argument, ctx) => {
      const parts = session.of(ctx);
      if (argument === "") return `${standing(parts)}\n${usageOf("token-budget")}`;
      if (argument === "on" || argument === "off") return turn(parts, argument === "on", ctx, drop);
      if (argument === "doctor") return examine(host, parts, surroundings);
      const [word, wanted = "", ...rest] = argument.split(/\s+/);
      return word === "forget" && rest.length === 0 ? forget(parts, wanted, agentDirectory(env), ctx) : undefined;
    },
    complete: (prefix) => forgettable(session.running, prefix),
  });
}
