// The tools, registered over the parts of the session they run in.
import { modelTakesImages } from "../host/context.ts";
import type { Host } from "../host/host.ts";
import { notesWarnings } from "../session/own-notes.ts";
import type { Session } from "../session/session.ts";
import { type ContextToolParts, contextTools } from "../tools/context.ts";
import { defineTool, type Execute, type ToolTable } from "../tools/define.ts";
import { historyTools } from "../tools/history.ts";
import { notesTools } from "../tools/notes.ts";
import { TOOL_NAMES, type ToolName } from "../tools/specs.ts";
import type { TodoTools } from "../tools/todo.ts";
import { toolRenderer } from "../ui/renderers.ts";
import type { Sessions } from "./sessions.ts";

export function registerTools(host: Host, sessions: Sessions, todos: TodoTools, leftOut: ReadonlySet<ToolName>): void {
  const made = (): ToolTable => ({
    ...historyTools({
      sourceOf: (agentName) => sessions.running.access.historyOf(agentName),
      limits: () => sessions.running.settings(),
      takesImages: () => modelTakesImages(sessions.running.context()),
    }),
    ...notesTools({
      agent: () => sessions.running.agent,
      notesToRead: (agent) => sessions.running.access.notesToRead(agent),
      notesToWrite: (agent) => sessions.running.access.notesToWrite(agent),
      limits: () => sessions.running.settings(),
      onFailed: (toolCallId, error) => sessions.running.windows.loop.noteFailed(toolCallId, error),
      onSaved: (toolCallId, path, readsBack) => sessions.running.windows.loop.noteSaved(toolCallId, path, readsBack),
    }),
    ...contextTools(() => contextToolParts(sessions.running)),
    ...todos,
  });
  // What the tools are made of is not needed to tell of them.
  let table: ToolTable | undefined;
  const register = <N extends ToolName>(name: N) => {
    const execute: Execute<N> = (params, call) => {
      table ??= made();
      return table[name](params, call);
    };
    host.registerTool({ ...defineTool(name, execute), ...toolRenderer(name) }, (ctx) => void sessions.of(ctx));
  };
  for (const name of TOOL_NAMES) if (!leftOut.has(name)) register(name);
}

function contextToolParts(session: Session): ContextToolParts {
  const { agent, access, coordination, notes, windows } = session;
  return {
    agent,
    enabled: () => session.enabled(),
    windowId: () => session.branch.current.id,
    figures: () => session.figures(),
    phase: () => session.phase(),
    agents: () => session.access.visible().agents,
    firstRequests: async () => {
      await session.access.meet("listed agents");
      return access.firstRequests();
    },
    warnings: () => [...session.access.visible().problems, ...notesWarnings(notes)],
    newContext: (toolCallId) => windows.loop.newContext(toolCallId),
    ownsContinuation: () => coordination.owner === undefined,
  };
}
