// A stand-in for pi-subagents from 0.75 on, which this package's tests cannot install: the contract of its required
// child extensions, and a `subagent` tool that answers with the files a child launched here would have to load.
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import { requiredFor } from "./src/registry.ts";

// biome-ignore lint/style/noDefaultExport: Pi takes an extension's default export.
export default function subagents(pi: ExtensionAPI): void {
  pi.registerTool({
    name: "subagent",
    label: "subagent",
    description: "Answers with what a child would load.",
    parameters: { type: "object", properties: { task: { type: "string" } }, required: ["task"] } as never,
    async execute(_id, _params, _signal, _onUpdate, ctx) {
      // By the runtime id, never by the name of the session file.
      const required = requiredFor(ctx.sessionManager.getSessionId());
      return { content: [{ type: "text", text: JSON.stringify(required) }], details: { required } };
    },
  });
}
