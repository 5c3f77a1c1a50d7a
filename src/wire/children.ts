// The children that pi-subagents starts: they are made to load this package, and what is wrong with one is shown on a
// screen. A child in this process has none of its own, so its parent shows it.
import type { HostContext, ToolResultEvent } from "../host/api.ts";
import { hasScreen, notify } from "../host/context.ts";
import type { Host } from "../host/host.ts";
import { OWN_NAME } from "../packages/own.ts";
import type { Session } from "../session/session.ts";
import { SubagentsAdapter } from "../subagents/adapter.ts";
import { lackingNotice, missingTools, STRAY_MEND, strayText } from "../subagents/diagnostics.ts";
import { subagentTools } from "../subagents/discovery.ts";
import { childProblems } from "./child-problems.ts";
import { childExtension } from "./root-task.ts";
import type { Sessions, Wiring } from "./sessions.ts";

/** Says what is wrong with children on the screen of their parent, each thing once. */
class ChildNotices {
  readonly #sinceMs = Date.now();
  readonly #shown = new Set<string>();

  show(session: Session, isRegistered: boolean, ctx: HostContext): void {
    if (!hasScreen(ctx)) return;
    const { lacking, strays: files } = childProblems(session, this.#sinceMs);
    for (const { address, subagent, lacks = [] } of lacking) {
      if (this.#isNew(subagent ?? address)) notify(ctx, lackingNotice({ agent: address, subagent, lacks }), "warning");
    }
    // Without a registration the session's start has reported that children lack this package.
    const isStrange = isRegistered && files.length > 0;
    if (isStrange && this.#isNew("strays")) notify(ctx, `${OWN_NAME}: ${strayText(files)}. ${STRAY_MEND}`, "warning");
  }

  #isNew(what: string): boolean {
    if (this.#shown.has(what)) return false;
    this.#shown.add(what);
    return true;
  }
}

/** The one message of a child whose tools are not all there. */
function showOwn({ agent, task }: Session, host: Host, ctx: HostContext): void {
  const lacks = missingTools(host.activeTools(), host.ownTools());
  const { subagent } = task;
  if (lacks.length > 0) host.notices.show(ctx, lackingNotice({ agent, subagent, lacks }), "warning");
}

export function childrenSteps(
  host: Host,
  sessions: Sessions,
  { env, modulePath, surroundings, packageDirectory }: Wiring,
) {
  let adapter: SubagentsAdapter | undefined;
  let launching: ReadonlySet<string> = new Set();
  let hasLaunched = false;
  let notices = new ChildNotices();
  const close = () => {
    adapter?.close();
    adapter = undefined;
  };
  const warn = (ctx: HostContext) => notices.show(sessions.of(ctx), surroundings.adapter?.type === "registered", ctx);
  return {
    register: (_event: object, ctx: HostContext) => {
      close();
      surroundings.adapter = undefined;
      surroundings.asked = undefined;
      const session = sessions.of(ctx);
      const { task, sessionId } = session;
      notices = new ChildNotices();
      hasLaunched = false;
      const tools = host.allTools();
      launching = subagentTools(tools);
      // A session apart has no task to give children, and its person has been told so.
      if (task.problem) return;
      if (task.parent !== null) return showOwn(session, host, ctx);
      adapter = new SubagentsAdapter();
      const writeEntry = () => childExtension(session, { packageDirectory });
      surroundings.asked = adapter.start({ tools, modulePath, env, sessionId, writeEntry }).then((result) => {
        surroundings.adapter = result;
        if (result.type === "unavailable") host.notices.show(ctx, result.diagnostic, "warning");
      });
    },
    /** Children are only started in a run. */
    waitForRegistration: async () => {
      await surroundings.asked;
    },
    toolEnded: ({ toolName }: ToolResultEvent, ctx: HostContext) => {
      if (!launching.has(toolName)) return;
      hasLaunched = true;
      warn(ctx);
    },
    runEnded: (_event: object, ctx: HostContext) => {
      if (hasLaunched) warn(ctx);
    },
    close,
  };
}
