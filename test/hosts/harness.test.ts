// The harness itself: what the other suites take for granted about sessions, the scripted model and requests.
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import { describe, expect, it } from "vitest";
import { runPi } from "../../fixtures/pi/cli.ts";
import { currentHostName } from "../../fixtures/pi/hosts.ts";
import { call, text, textOf } from "../../fixtures/pi/scripted-model.ts";
import { openPi } from "../../fixtures/pi/session.ts";

/** A tool that answers with what it was given. */
function echo(pi: ExtensionAPI): void {
  pi.registerTool({
    name: "echo",
    label: "echo",
    description: "Answers with its text.",
    parameters: { type: "object", properties: { value: { type: "string" } }, required: ["value"] } as never,
    async execute(_id, params) {
      return { content: [text((params as { value: string }).value)], details: { echoed: true } };
    },
  });
}

describe("a session of the harness", () => {
  it("runs the host that was asked for", async () => {
    const pi = await openPi({ bare: true, next: () => "hello" });
    expect(pi.host.name).toBe(currentHostName());
    await pi.dispose();
  });

  it("records each request in one shape: prompt, messages and tools apart", async () => {
    const pi = await openPi({
      bare: true,
      factories: [echo],
      next: (_request, n) => (n === 0 ? [text("I will ask."), call("echo", { value: "pong" })] : "done"),
    });
    await pi.prompt("ping");
    expect(pi.requests).toHaveLength(2);
    const [first, second] = pi.requests;
    expect(first?.systemPrompt).toContain("assistant");
    expect(first?.tools.map((tool) => tool.name)).toContain("echo");
    expect(first?.messages.map((message) => message.role)).toEqual(["user"]);
    expect(second?.messages.map((message) => message.role)).toEqual(["user", "assistant", "toolResult"]);
    expect(textOf(second?.messages.at(-1))).toBe("pong");
    expect(pi.toolResults()).toMatchObject([{ name: "echo", isError: false, text: "pong", details: { echoed: true } }]);
    expect(pi.errors).toEqual([]);
    await pi.dispose();
  });

  it("fails a test whose session asks for more than its script allows, and says what it asked", async () => {
    const pi = await openPi({ bare: true, factories: [echo], next: [[call("echo", { value: "more" })]] });
    await expect(pi.prompt("go")).rejects.toThrow(/allows 1 requests.*\n[\s\S]*toolResult: more/);
    expect(pi.requests).toHaveLength(2);
    await expect(pi.dispose()).rejects.toThrow("allows 1 requests");
  });

  it("ends a session that asks without an end", async () => {
    const pi = await openPi({
      bare: true,
      factories: [echo],
      requestLimit: 20,
      next: () => [call("echo", { value: "more" })],
    });
    await expect(pi.prompt("go")).rejects.toThrow("allows 20 requests");
    expect(pi.requests).toHaveLength(21);
    await expect(pi.dispose()).rejects.toThrow("allows 20 requests");
  });

  it("keeps the sessions of one process apart", async () => {
    const one = await openPi({ bare: true, next: () => "one" });
    const two = await openPi({ bare: true, next: () => "two" });
    await one.prompt("who?");
    await two.prompt("who?");
    const lastOf = (pi: typeof one) => JSON.stringify(pi.branch().at(-1));
    expect(lastOf(one)).toContain('"text":"one"');
    expect(lastOf(two)).toContain('"text":"two"');
    expect(one.requests).toHaveLength(1);
    await one.dispose();
    await two.dispose();
  });

  it("waits for a retry before it calls a session settled", async () => {
    const pi = await openPi({
      bare: true,
      next: (_request, n) =>
        n === 0 ? { content: [], stopReason: "error", errorMessage: "overloaded_error: try again" } : "better",
    });
    await pi.prompt("go");
    expect(pi.requests).toHaveLength(2);
    expect(JSON.stringify(pi.branch().at(-1))).toContain("better");
    await pi.dispose();
  });

  it("opens a session file again", async () => {
    const pi = await openPi({ bare: true, next: () => "first answer" });
    await pi.prompt("first question");
    const path = pi.session.sessionFile ?? "";
    await pi.dispose();
    const again = await openPi({ bare: true, next: () => "second answer", session: { path } });
    await again.prompt("second question");
    expect(again.requests[0]?.messages.map(textOf)).toEqual(["first question", "first answer", "second question"]);
    await again.dispose();
  });

  it("says goodbye to extensions as Pi does, and records what they show", async () => {
    const heard: string[] = [];
    const pi = await openPi({
      bare: true,
      ui: true,
      factories: [
        (api) => {
          api.on("session_start", (_event, context) => context.ui.notify("started", "warning"));
          api.on("session_shutdown", () => void heard.push("shutdown"));
        },
      ],
      next: () => "hello",
    });
    expect(pi.ui.notices).toEqual([{ message: "started", type: "warning" }]);
    await pi.dispose();
    expect(heard).toEqual(["shutdown"]);
  });

  it("calls a tool of the session directly", async () => {
    const pi = await openPi({ bare: true, factories: [echo], next: () => "hello" });
    expect(await pi.callTool("echo", { value: "direct" })).toMatchObject({ content: [text("direct")] });
    await pi.dispose();
  });

  it("limits the tools of a session and runs one without a file", async () => {
    const pi = await openPi({ bare: true, session: "memory", tools: ["read", "ls"], next: () => "hello" });
    await pi.prompt("hello");
    expect(pi.requests[0]?.tools.map((tool) => tool.name).sort()).toEqual(["ls", "read"]);
    expect(pi.session.sessionFile).toBeUndefined();
    await pi.dispose();
  });
});

describe("the command line of the harness", () => {
  it("answers a prompt offline from scripted replies, in print mode", async () => {
    const ran = await runPi({
      extensions: [],
      model: [[call("bash", { command: "echo from-bash" })], "all done"],
      prompt: "go",
    });
    expect(ran).toMatchObject({ code: 0, stdout: "all done\n" });
    expect(ran.requests).toHaveLength(2);
    expect(textOf(ran.requests[1]?.messages.at(-1))).toContain("from-bash");
    expect(ran.sessionFiles).toHaveLength(1);
    ran.environment.remove();
  });

  it("runs a model given as source text, in json mode", async () => {
    const source = '(request) => "you said " + JSON.stringify(request.messages.at(-1).content)';
    const ran = await runPi({ extensions: [], model: { source }, prompt: "marco", mode: "json" });
    expect(ran.code).toBe(0);
    const events = ran.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { type: string });
    expect(events.map((event) => event.type)).toContain("agent_end");
    expect(ran.stdout).toContain("marco");
    ran.environment.remove();
  });
});
