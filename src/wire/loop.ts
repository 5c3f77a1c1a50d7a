// The running loop: prompt, requests, tools.
import type { HostContext, ToolCallEvent, ToolResultEvent } from "../host/api.ts";
import { systemPromptOf } from "../host/context.ts";
import type { Host } from "../host/host.ts";
import { GUIDANCE_OPEN, guidanceFor } from "../prompts.ts";
import { missingTools } from "../subagents/diagnostics.ts";
import type { Sessions } from "./sessions.ts";

const NO_NOTES_NOTICE =
  "pi-token-budget: this session has no notes_write_file or notes_append_to_file (a tool list or the setting tools leaves them out), so it keeps Pi's own compaction.";

export function loopSteps(host: Host, sessions: Sessions) {
  let isNoticed = false;
  /** The next request is the first one of its run. */
  let isFirst = false;
  const withGuidance = (prompt: string) => `${prompt}\n\n${guidanceFor(missingTools(host.ownTools()))}`;
  const requests = host.requests((messages, ctx) => {
    const session = sessions.of(ctx);
    // What later extensions add to the prompt is known with the first request of a run.
    if (isFirst) session.windows.loop.promptIs(ctx.getSystemPrompt(), host.activeToolInfos());
    isFirst = false;
    return session.request(messages);
  });
  return {
    /** A model without room for windows is found out before the first prompt. */
    measurePrompt: (_event: object, ctx: HostContext) => {
      const session = sessions.of(ctx);
      if (!session.canCheckpoint()) return;
      session.windows.loop.promptIs(withGuidance(systemPromptOf(ctx)), host.activeToolInfos());
    },
    guide: (event: { readonly systemPrompt: string }, ctx: HostContext) => {
      const session = sessions.of(ctx);
      if (!session.enabled() || event.systemPrompt.includes(GUIDANCE_OPEN)) return undefined;
      if (!session.canCheckpoint()) {
        // Guidance for tools that are not there would only mislead.
        if (!isNoticed) host.notices.show(ctx, NO_NOTES_NOTICE, "info");
        isNoticed = true;
        return undefined;
      }
      const systemPrompt = withGuidance(event.systemPrompt);
      session.windows.loop.promptIs(systemPrompt, host.activeToolInfos());
      // Where windows have just stepped aside, guidance for them would only mislead.
      return session.enabled() ? { systemPrompt } : undefined;
    },
    runStarted: () => {
      isFirst = true;
    },
    logIsRead: requests.logIsRead,
    request: requests.build,
    judgeCall: (event: ToolCallEvent, ctx: HostContext) => {
      const session = sessions.of(ctx);
      const { loop } = session.windows;
      const reason = loop.cutOff(event) ?? (session.enabled() ? loop.refusal(event) : undefined);
      return reason === undefined ? undefined : ({ block: true, reason } as const);
    },
    toolEnded: (event: ToolResultEvent, ctx: HostContext) => {
      const session = sessions.of(ctx);
      session.windows.loop.toolEnded(event);
      session.publish();
    },
    publish: (_event: object, ctx: HostContext) => sessions.of(ctx).publish(),
    modelSelected: (_event: object, ctx: HostContext) => {
      const session = sessions.of(ctx);
      session.aside.modelChanged();
      if (ctx.isIdle()) session.windows.loop.budgetChanged();
    },
  };
}
