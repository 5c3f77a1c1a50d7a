// The running loop: prompt, requests, tools.
import { type Host, systemPromptOf } from "../host/host.ts";
import { GUIDANCE_OPEN, guidanceFor } from "../prompts.ts";
import { missingTools } from "../subagents/diagnostics.ts";
import type { CurrentSession } from "./current.ts";

const NO_NOTES_NOTICE =
  "pi-token-budget: this session has no notes_write_file or notes_append_to_file (a tool list or the setting tools leaves them out), so it keeps Pi's own compaction.";

export function wireLoop(host: Host, session: CurrentSession): void {
  let noticed = false;
  // A model without room for windows is known before anything is said.
  host.on("session_start", (_event, ctx) => {
    const { windows, canCheckpoint } = session.of(ctx);
    if (canCheckpoint()) windows.loop.promptIs(withGuidance(systemPromptOf(ctx)), host.activeToolInfos());
    return undefined;
  });
  const withGuidance = (prompt: string) => `${prompt}\n\n${guidanceFor(missingTools(host.ownTools()))}`;
  host.on("before_agent_start", (event, ctx) => {
    const parts = session.of(ctx);
    if (!parts.enabled() || event.systemPrompt.includes(GUIDANCE_OPEN)) return undefined;
    if (!parts.canCheckpoint()) {
      // Guidance for tools that are not there would only mislead.
      if (!noticed) host.notices.tell(ctx, NO_NOTES_NOTICE, "info");
      noticed = true;
      return undefined;
    }
    const systemPrompt = withGuidance(event.systemPrompt);
    parts.windows.loop.promptIs(systemPrompt, host.activeToolInfos());
    // Where windows have just stepped aside, guidance for them would only mislead.
    return parts.enabled() ? { systemPrompt } : undefined;
  });
  // What extensions behind this one add to the prompt shows with the first request of a run.
  let isFirst = false;
  host.on("agent_start", () => {
    isFirst = true;
    return undefined;
  });
  host.onRequest((messages, ctx) => {
    const { windows, request } = session.of(ctx);
    if (isFirst) windows.loop.promptIs(ctx.getSystemPrompt(), host.activeToolInfos());
    isFirst = false;
    return request(messages);
  });
  host.on("tool_call", (event, ctx) => {
    const { windows, enabled } = session.of(ctx);
    const reason = windows.loop.cutOff(event) ?? (enabled() ? windows.loop.refusal(event) : undefined);
    return reason === undefined ? undefined : { block: true, reason };
  });
  host.on("tool_result", (event, ctx) => {
    const { windows, publish } = session.of(ctx);
    windows.loop.toolEnded(event);
    publish();
    return undefined;
  });
  host.on("session_tree", (_event, ctx) => {
    session.of(ctx).publish();
    return undefined;
  });
  host.on("model_select", (_event, ctx) => {
    session.of(ctx).aside.modelChanged();
    if (ctx.isIdle()) session.of(ctx).windows.loop.budgetChanged();
    return undefined;
  });
}
