// The commands: what each does with the session. Their texts are made in src/ui.

import { messageOf } from "../errors.ts";
import { HistoryReader } from "../history/reader.ts";
import { agentDirectory } from "../host/agent-dir.ts";
import type { HostContext } from "../host/api.ts";
import { endsWithRun } from "../host/context.ts";
import type { Host } from "../host/host.ts";
import { selectedModel, windowSize } from "../host/models.ts";
import type { BranchIndex } from "../log/branch.ts";
import type { ListedAgent } from "../session/access.ts";
import type { Session } from "../session/session.ts";
import { agentLines } from "../ui/agents.ts";
import { answersOn } from "../ui/answer.ts";
import { type CommandName, type CommandParts, defineCommand, usageOf } from "../ui/commands.ts";
import { contextText } from "../ui/context.ts";
import { type NotesView, noteCompletions, notesAt, notesOverview } from "../ui/notes.ts";
import { windowChoices, windowsText } from "../ui/windows.ts";
import { asideText } from "../window/aside.ts";
import type { DropClosedWindows } from "./boundary.ts";
import { openWindow, openWithoutNote } from "./compactions.ts";
import { examine, type Surroundings } from "./doctor.ts";
import { forget, forgettable, keep } from "./forget.ts";
import type { Sessions } from "./sessions.ts";

/** What is known of the other agents; nothing when the registry cannot be read. */
function othersOf({ access }: Session): readonly ListedAgent[] {
  try {
    return access.others().agents;
  } catch {
    // The list of agents beside it says what is wrong.
    return [];
  }
}

async function contextOf(session: Session): Promise<string> {
  await session.access.meet("listed agents");
  const model = selectedModel(session.context());
  return contextText({
    windowId: session.branch.current.id,
    agent: session.agent,
    phase: session.phase(),
    aside: session.aside.reason,
    goesAtEnd: session.forgetting.isAsked(),
    figures: session.figures(),
    model: model && `${model.provider}/${model.id}`,
    contextWindow: model && windowSize({ model }),
    settings: session.settings(),
    loaded: session.loaded,
    oddities: [...miscounted(session.branch), ...categoryFault(session)],
    agents: session.access.visible().agents,
    agentLines: agentLines(othersOf(session)),
    notesRoot: session.task.notesRoot,
    storageRoot: session.task.context.storageRoot,
  });
}

function notesView(session: Session): NotesView {
  return {
    agent: session.agent,
    agents: session.access.visible().agents,
    notesOf: (agent) => session.access.notesToRead(agent),
  };
}

/** What the footer's `category unknown` means. */
function categoryFault(session: Session): readonly string[] {
  try {
    session.category();
    return [];
  } catch (error) {
    return [`Category unknown, so nothing is sent to a model: ${messageOf(error)}`];
  }
}

/** Windows whose opener was written with another number: part of the branch is missing or was edited. */
function miscounted(branch: BranchIndex): readonly string[] {
  const wrong = branch.windows.filter(({ writtenNumber }) => writtenNumber !== undefined);
  return wrong.map(({ id, writtenNumber }) => `${id} was written as w${writtenNumber}: part of this branch is missing`);
}

/** Whether windows are kept, and why. */
function windowsAre(session: Session): string {
  const isOn = session.enabled();
  const { enabled } = session.settings();
  if (session.aside.reason) return asideText(session.aside.reason);
  const by = isOn === enabled ? "" : `, by /token-budget ${isOn ? "on" : "off"}`;
  if (isOn) return `Windows are on in this session${by}.`;
  const setting = by === "" ? `, by the setting enabled (${session.loaded.originOf("enabled", undefined)})` : by;
  return `Windows are off in this session${setting}: Pi compacts by itself. /token-budget on keeps windows.`;
}

async function switchWindows(
  session: Session,
  on: boolean,
  ctx: HostContext,
  drop: DropClosedWindows,
): Promise<string> {
  // A person's off outlasts stepping aside.
  const isSaid = on || session.aside.reason === undefined;
  if (session.enabled() === on && isSaid) return `Windows are ${on ? "kept" : "off"} in this session already.`;
  session.switchWindows(on);
  if (on) return session.aside.reason ? asideText(session.aside.reason) : "Windows are kept in this session again.";
  if (!endsWithRun(ctx) && ctx.isIdle()) await drop(session.windows, ctx);
  return "Off in this session: Pi compacts by itself. Notes and history stay; /token-budget on keeps windows again.";
}

export interface CommandWiring {
  /** Makes the host drop what it still holds of closed windows. */
  readonly drop: DropClosedWindows;
  readonly redraw: (ctx: HostContext) => void;
  readonly surroundings: Surroundings;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export function registerCommands(
  host: Host,
  sessions: Sessions,
  { drop, redraw, surroundings, env }: CommandWiring,
): void {
  let reader: HistoryReader | undefined;
  const { show } = answersOn(host.answers);
  // A failed redraw must not replace the answer.
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
    host.registerCommand(name, defineCommand(name, { answer: guarded, show, ...(complete ? { complete } : {}) }));
  };
  command("context", {
    answer: (argument, ctx) => {
      if (argument === "") return contextOf(sessions.of(ctx));
      if (/^new\b/.test(argument) && !sessions.of(ctx).enabled()) return windowsAre(sessions.of(ctx));
      if (/^new\s+--without-note$/.test(argument)) return openWithoutNote(sessions.of(ctx), ctx);
      // Any other option is a typo, not an instruction.
      const [, instructions] = /^new(?:\s+(?!--)(.+))?$/s.exec(argument) ?? [];
      const isNew = argument === "new" || instructions !== undefined;
      return isNew ? openWindow(host, sessions.of(ctx), ctx, instructions) : undefined;
    },
  });
  command("notes", {
    answer: (argument, ctx) => {
      const view = notesView(sessions.of(ctx));
      return argument === "" ? notesOverview(view) : notesAt(view, argument);
    },
    complete: (prefix) => noteCompletions(notesView(sessions.running), prefix),
  });
  command("windows", {
    answer: async (argument, ctx) => {
      reader ??= new HistoryReader();
      return windowsText(reader, await sessions.of(ctx).access.historyOf(undefined), argument);
    },
    complete: async (prefix) => windowChoices(await sessions.running.access.historyOf(undefined), prefix),
  });
  command("token-budget", {
    answer: (argument, ctx) => {
      const session = sessions.of(ctx);
      if (argument === "") return `${windowsAre(session)}\n${usageOf("token-budget")}`;
      if (argument === "on" || argument === "off") return switchWindows(session, argument === "on", ctx, drop);
      if (argument === "keep") return keep(session);
      if (argument === "doctor") return examine(host, session, surroundings);
      const [word, wanted = "", ...rest] = argument.split(/\s+/);
      return word === "forget" && rest.length === 0 ? forget(session, wanted, agentDirectory(env), ctx) : undefined;
    },
    complete: (prefix) => forgettable(sessions.running, prefix),
  });
}
