// The children that pi-subagents starts: they are made to load this package, and what is wrong with one is said where
// somebody sees it. A child in this process has no screen of its own, so its parent speaks for it.
import type { HostContext } from "../host/api.ts";
import { type Host, hasScreen, notify } from "../host/host.ts";
import type { SessionParts } from "../session.ts";
import { SubagentsAdapter } from "../subagents/adapter.ts";
import { lackingNotice, missingTools, STRAY_MEND, strayText } from "../subagents/diagnostics.ts";
import { subagentTools } from "../subagents/discovery.ts";
import { OWN_NAME } from "../subagents/packages.ts";
import { childProblems } from "./child-problems.ts";
import type { CurrentSession, Wiring } from "./current.ts";
import { childExtension } from "./root-task.ts";

/** Says what is wrong with children on the screen of their parent, each thing once. */
class ChildNotices {
  readonly #sinceMs = Date.now();
  readonly #told = new Set<string>();

  tell(parts: SessionParts, isRegistered: boolean, ctx: HostContext): void {
    if (!hasScreen(ctx)) return;
    const { lacking, strays: files } = childProblems(parts, this.#sinceMs);
    for (const { address, subagent, lacks = [] } of lacking) {
      if (this.#isNew(subagent ?? address)) notify(ctx, lackingNotice({ agent: address, subagent, lacks }), "warning");
    }
    // Without a registration the start has said that children do without.
    const isStrange = isRegistered && files.length > 0;
    if (isStrange && this.#isNew("strays")) notify(ctx, `${OWN_NAME}: ${strayText(files)}. ${STRAY_MEND}`, "warning");
  }

  #isNew(what: string): boolean {
    if (this.#told.has(what)) return false;
    this.#told.add(what);
    return true;
  }
}

/** The one message of a child whose tools are not all there. */
function tellOwn({ agent, task }: SessionParts, host: Host, ctx: HostContext): void {
  const lacks = missingTools(host.activeTools(), host.ownTools());
  const { subagent } = task;
  if (lacks.length > 0) host.notices.tell(ctx, lackingNotice({ agent, subagent, lacks }), "warning");
}

export function wireChildren(
  host: Host,
  session: CurrentSession,
  { env, modulePath, surroundings, packageDirectory }: Wiring,
): void {
  let adapter: SubagentsAdapter | undefined;
  let launching: ReadonlySet<string> = new Set();
  let hasLaunched = false;
  let notices = new ChildNotices();
  host.on("session_start", (_event, ctx) => {
    adapter?.close();
    adapter = undefined;
    surroundings.adapter = undefined;
    surroundings.asked = undefined;
    const parts = session.of(ctx);
    const { task, sessionId } = parts;
    notices = new ChildNotices();
    hasLaunched = false;
    const tools = host.allTools();
    launching = subagentTools(tools);
    // Who stands apart has no task to give children, and has been told so.
    if (task.problem) return undefined;
    if (task.parent !== null) {
      tellOwn(parts, host, ctx);
      return undefined;
    }
    adapter = new SubagentsAdapter();
    const writeEntry = () => childExtension(parts, { packageDirectory });
    surroundings.asked = adapter.start({ tools, modulePath, env, sessionId, writeEntry }).then((result) => {
      surroundings.adapter = result;
      if (result.type === "unavailable") host.notices.tell(ctx, result.diagnostic, "warning");
    });
    return undefined;
  });
  // Children are only started in a run.
  host.on("before_agent_start", async () => {
    await surroundings.asked;
    return undefined;
  });
  const tell = (ctx: HostContext) => {
    notices.tell(session.of(ctx), surroundings.adapter?.type === "registered", ctx);
    return undefined;
  };
  host.on("tool_result", ({ toolName }, ctx) => {
    if (!launching.has(toolName)) return undefined;
    hasLaunched = true;
    return tell(ctx);
  });
  host.on("agent_end", (_event, ctx) => (hasLaunched ? tell(ctx) : undefined));
  host.on("session_shutdown", () => {
    adapter?.close();
    adapter = undefined;
    return undefined;
  });
}
