// The setting `tools` in a real session: another package has the name of a tool of ours, and the windows know it.
import type { ExtensionFactory } from "@mariozechner/pi-coding-agent";
import { Type } from "@sinclair/typebox";
import { describe, expect, it } from "vitest";
import { call } from "../../fixtures/pi/scripted-model.ts";
import { closeAfterEach, first, pi, using } from "./support.ts";

closeAfterEach();

function leavingOut(...names: readonly string[]) {
  return { tokenBudget: { tools: Object.fromEntries(names.map((name) => [name, false])) } };
}

/** Another package's tool by the name of one of ours. */
function othersTool(name: string): ExtensionFactory {
  return (api) =>
    api.registerTool({
      name,
      label: name,
      description: "another package's",
      parameters: Type.Object({}),
      execute: () => Promise.resolve({ content: [{ type: "text", text: "another's answer" }], details: {} }),
    });
}

const note = () => call("notes_write_file", { path: "checkpoint.md", text: "the state" });

describe("a tool left out by the settings", () => {
  it("is another package's, and windows go on", async () => {
    const s = await pi({
      settings: leavingOut("todo_write"),
      factories: [othersTool("todo_write")],
      next: [[call("todo_write", {})], [note()], [call("new_context", {})], "done"],
    });
    await s.prompt("go");
    expect(s.toolResults().find(({ name }) => name === "todo_write")?.text).toBe("another's answer");
    expect(first(s.requests[3])).toContain("window, w2");
    expect(s.requests[0]?.systemPrompt).toContain("<pi_token_budget_guidance>");
    expect(s.requests[0]?.systemPrompt).not.toContain("This session is without");
  });

  it("that the guidance speaks of is named there", async () => {
    const s = await pi({ settings: leavingOut("new_context", "todo_write"), next: ["done"] });
    await s.prompt("go");
    expect(s.requests[0]?.systemPrompt).toContain(
      "This session is without these tools, whatever is said above: new_context.",
    );
    expect(s.session.getActiveToolNames()).not.toContain("new_context");
  });

  it("for notes closes no tool, though another package has the name", async () => {
    const s = await pi({
      ui: true,
      settings: leavingOut("notes_write_file", "notes_append_to_file"),
      factories: [othersTool("notes_write_file")],
      next: [using(181_000, call("notes_read_file", { path: "checkpoint.md" })), using(1_000, note()), "done"],
    });
    await s.prompt("go");
    expect(s.toolResults().at(-1)?.text).toBe("another's answer");
    expect(s.requests[0]?.systemPrompt ?? "").not.toContain("<pi_token_budget_guidance>");
    expect(s.ui.notices.map(({ message }) => message).join()).toContain("the setting tools leaves them out");
    expect(JSON.stringify(s.requests.map(({ messages }) => messages))).not.toContain("Checkpoint required");
  });
});
