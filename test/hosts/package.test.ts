// This package as a host loads it from a checkout: `pi -e .`, and a session of the SDK with it.
import { describe, expect, it } from "vitest";
import { TOOL_NAMES } from "../../api.ts";
import { runPi } from "../../fixtures/pi/cli.ts";
import { call, textOf } from "../../fixtures/pi/scripted-model.ts";
import { openPi } from "../../fixtures/pi/session.ts";

describe("a checkout of this package", () => {
  it("gives its tools to the model with `pi -e .`, and they work in print mode", async () => {
    const ran = await runPi({
      model: [[call("notes_write_file", { path: "plan.md", text: "first 一" })], [call("new_context")], "on we go"],
      prompt: "Begin.",
    });
    expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: "on we go\n" });
    expect(ran.requests[0]?.tools.map((tool) => tool.name)).toEqual(expect.arrayContaining([...TOOL_NAMES]));
    const [bootstrap, ...others] = ran.requests[2]?.messages ?? [];
    expect(others).toEqual([]);
    expect(textOf(bootstrap)).toContain("/root/notes/plan.md");
    ran.environment.remove();
  });

  it("adds its tools to Pi's own and nothing else", async () => {
    const names = async (bare: boolean) => {
      const pi = await openPi({ bare, next: () => "hello" });
      await pi.prompt("hello");
      const tools = pi.requests[0]?.tools.map((tool) => tool.name) ?? [];
      expect(pi.errors).toEqual([]);
      await pi.dispose();
      return tools;
    };
    const own = await names(true);
    expect((await names(false)).sort()).toEqual([...own, ...TOOL_NAMES].sort());
  });
});
