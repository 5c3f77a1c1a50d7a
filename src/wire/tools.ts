// The tools, registered over the parts of the session they run in.
import { type Host, modelTakesImages } from "../host/host.ts";
import { contextTools } from "../tools/context.ts";
import { defineTool, type Execute, type ToolTable } from "../tools/define.ts";
import { historyTools } from "../tools/history.ts";
import { notesTools } from "../tools/notes.ts";
import { TOOL_NAMES, type ToolName } from "../tools/specs.ts";
import type { TodoTools } from "../tools/todo.ts";
import { toolRenderer } from "../ui/renderers.ts";
import type { CurrentSession } from "./current.ts";

export function registerTools(
  host: Host,
  session: CurrentSession,
  todos: TodoTools,
  leftOut: ReadonlySet<ToolName>,
): void {
  const made = (): ToolTable => ({
    ...historyTools({
      sourceOf: (agentName) => session.running.access.historyOf(agentName),
      limits: () => session.running.settings(),
      takesImages: () => modelTakesImages(session.running.context()),
    }),
    ...notesTools({
      agent: () => session.running.agent,
      notesToRead: (agent) => session.running.access.notesToRead(agent),
      notesToWrite: (agent) => session.running.access.notesToWrite(agent),
      limits: () => session.running.settings(),
      onFailed: (toolCallId, error) => session.running.windows.loop.noteFailed(toolCallId, error),
      onSaved: (toolCallId, path, readsBack) => session.running.windows.loop.noteSaved(toolCallId, path, readsBack),
    }),
    ...contextTools(() => session.running.contextToolParts()),
    ...todos,
  });
  // What the tools are made of is not needed to tell of them.
  let table: ToolTable | undefined;
  const register = <N extends ToolName>(name: N) => {
    const execute: Execute<N> = (params, call) => {
      table ??= made();
      return table[name](params, call);
    };
    host.registerTool({ ...defineTool(name, execute), ...toolRenderer(name) }, (ctx) => void session.of(ctx));
  };
  for (const name of TOOL_NAMES) if (!leftOut.has(name)) register(name);
}
