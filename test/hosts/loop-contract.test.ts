// What this package relies on in the host's own loop (pi-agent-core itself, without the coding agent): when
// `terminate: true` stops a batch, and what queued messages do then, as counted requests. Then the same in a session,
// where an owner of the continuation makes new_context end the run.
import { describe, expect, it } from "vitest";
import { loadHost } from "../../fixtures/pi/hosts.ts";
import { call, text, textOf } from "../../fixtures/pi/scripted-model.ts";
import { COORDINATION_CHANNELS } from "../../src/window/coordination.ts";
import { closeAfterEach, first, pi, roles, texts, using } from "./support.ts";
import { slowTool } from "./tools.ts";

closeAfterEach();

interface LoopMessage {
  readonly role: string;
  readonly content: unknown;
  readonly timestamp: number;
}

interface LoopAgent {
  prompt(message: LoopMessage): Promise<void>;
  waitForIdle(): Promise<void>;
  steer(message: LoopMessage): void;
  followUp(message: LoopMessage): void;
}

type AgentClass = new (options: Readonly<Record<string, unknown>>) => LoopAgent;

const user = (value: string): LoopMessage => ({ role: "user", content: [text(value)], timestamp: Date.now() });

/** A tool of the loop; with `terminate` every result of it asks for the end. */
const tool = (name: string, terminate: boolean, executionMode: "parallel" | "sequential" = "parallel") => ({
  name,
  label: name,
  description: name,
  executionMode,
  parameters: { type: "object", properties: {} },
  execute: async () => ({ content: [text(`${name} ran`)], details: {}, ...(terminate ? { terminate: true } : {}) }),
});

interface LoopRun {
  /** The roles and texts of each request. */
  readonly requests: readonly (readonly string[])[];
}

/** Runs one prompt: the first response makes these calls, the others say "done". */
async function loop(
  calls: readonly string[],
  options: { steer?: string; followUp?: string; block?: { terminate?: boolean } } = {},
): Promise<LoopRun> {
  const { agentCore, ai } = await loadHost();
  const requests: string[][] = [];
  const model = {
    id: "m",
    name: "m",
    api: "loop-api",
    provider: "loop",
    baseUrl: "",
    reasoning: false,
    input: ["text"],
  };
  const streamFn = (_model: unknown, context: { messages: readonly { role: string; content: never }[] }) => {
    const shown = context.messages.filter(({ role }) => role !== "system");
    requests.push(shown.map((message) => `${message.role}: ${textOf(message)}`));
    const isFirst = requests.length === 1;
    if (isFirst && options.steer !== undefined) agent.steer(user(options.steer));
    if (isFirst && options.followUp !== undefined) agent.followUp(user(options.followUp));
    const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: {} };
    const stopReason = isFirst ? "toolUse" : "stop";
    const content = isFirst ? calls.map((name) => call(name)) : [text("done")];
    const message = { role: "assistant", content, ...model, model: "m", usage, stopReason, timestamp: Date.now() };
    const stream = ai.createAssistantMessageEventStream();
    stream.push({ type: "start", partial: { ...message, content: [] } as never });
    stream.push({ type: "done", reason: stopReason, message: message as never });
    stream.end(message as never);
    return stream;
  };
  const agent = new (agentCore.Agent as AgentClass)({
    initialState: {
      systemPrompt: "prompt",
      model: { ...model, contextWindow: 1_000, maxTokens: 100, cost: {} },
      tools: [tool("end", true), tool("end_too", true, "sequential"), tool("plain", false)],
    },
    streamFn,
    getApiKey: () => "none",
    ...(options.block
      ? {
          beforeToolCall: async ({ toolCall }: { toolCall: { name: string } }) =>
            toolCall.name === "plain" ? { block: true, reason: "not now", ...options.block } : undefined,
        }
      : {}),
  });
  await agent.prompt(user("go"));
  await agent.waitForIdle();
  return { requests };
}

describe("a batch of the host's loop", () => {
  const cases: readonly (readonly [string, readonly string[], number])[] = [
    ["one call that terminates ends the run", ["end"], 1],
    ["two calls that both terminate end the run", ["end", "end"], 1],
    ["two that terminate one after the other end the run", ["end_too", "end_too"], 1],
    ["a plain call beside it, before, keeps the run going", ["plain", "end"], 2],
    ["a plain call beside it, after, keeps the run going", ["end", "plain"], 2],
    ["an unknown tool beside it keeps the run going", ["end", "nosuch"], 2],
    ["a plain call alone keeps the run going", ["plain"], 2],
  ];
  for (const [what, calls, requests] of cases) {
    it(`${what}: ${requests} ${requests === 1 ? "request" : "requests"}`, async () => {
      const ran = await loop(calls);
      expect(ran.requests).toHaveLength(requests);
      if (requests === 2)
        expect(ran.requests[1]?.filter((one) => one.startsWith("toolResult"))).toHaveLength(calls.length);
    });
  }

  it("that terminates with a steer queued: one more request, which holds the results and the steer", async () => {
    const { requests } = await loop(["end"], { steer: "STEERED" });
    expect(requests).toHaveLength(2);
    expect(requests[1]?.slice(-2)).toEqual(["toolResult: end ran", "user: STEERED"]);
  });

  it("that terminates with a follow-up queued: one more request, which holds the results and the follow-up", async () => {
    const { requests } = await loop(["end"], { followUp: "FOLLOWED" });
    expect(requests).toHaveLength(2);
    expect(requests[1]?.slice(-2)).toEqual(["toolResult: end ran", "user: FOLLOWED"]);
  });

  it("that terminates with both queued: the steer first, then the follow-up, one request each", async () => {
    const { requests } = await loop(["end", "end"], { steer: "STEERED", followUp: "FOLLOWED" });
    expect(requests).toHaveLength(3);
    expect(requests[1]?.at(-1)).toBe("user: STEERED");
    expect(requests[2]?.at(-1)).toBe("user: FOLLOWED");
    expect(requests[2]?.filter((one) => one === "user: STEERED")).toHaveLength(1);
  });

  it("that goes on with both queued: the steer rides along, the follow-up waits for the end", async () => {
    const { requests } = await loop(["plain"], { steer: "STEERED", followUp: "FOLLOWED" });
    expect(requests).toHaveLength(3);
    expect(requests[1]?.slice(-2)).toEqual(["toolResult: plain ran", "user: STEERED"]);
    expect(requests[2]?.at(-1)).toBe("user: FOLLOWED");
  });

  it("whose every call is refused goes on, so that a fence never ends a run", async () => {
    const { requests } = await loop(["plain", "plain"], { block: {} });
    expect(requests).toHaveLength(2);
    expect(requests[1]?.slice(-2)).toEqual(["toolResult: not now", "toolResult: not now"]);
  });

  it("whose every refusal asks for the end stops newer hosts, and not 0.73.1", async () => {
    const { host } = await loadHost();
    const { requests } = await loop(["plain"], { block: { terminate: true } });
    expect(requests).toHaveLength(host.name === "0.73.1" ? 2 : 1);
  });
});

/** An extension that owns the continuation of whatever session it is in. */
function owner() {
  const answers: unknown[] = [];
  const states: { phase: string; windowId: string; sequence: number }[] = [];
  let resume = () => undefined as unknown;
  let release = () => undefined as unknown;
  const factory: typeof slowTool = (api) => {
    api.events.on(COORDINATION_CHANNELS.state, (data) => void states.push(data as (typeof states)[number]));
    api.on("before_agent_start", (_event, ctx) => {
      const fields = { version: 1, sessionId: ctx.sessionManager.getSessionId(), owner: "goals" };
      if (answers.length === 0)
        api.events.emit(COORDINATION_CHANNELS.claim, { ...fields, respond: (one: unknown) => void answers.push(one) });
      release = () => api.events.emit(COORDINATION_CHANNELS.release, fields);
      resume = () =>
        api.sendMessage({ customType: "goals:resume", content: "RESUMED", display: true }, { triggerTurn: true });
    });
  };
  return { factory, answers, states, resume: () => resume(), release: () => release() };
}

describe("while another extension owns the continuation", () => {
  it("new_context ends the run, the owner resumes in the new window, and after its release runs go on again", async () => {
    const other = owner();
    const s = await pi({
      factories: [slowTool, other.factory],
      next: (_request, n) => (n === 0 || n === 2 ? [text("OLD"), call("new_context")] : `answer ${n}`),
    });
    await s.prompt("build the ledger");
    expect(other.answers).toMatchObject([{ accepted: true, owner: "goals" }]);
    expect(s.requests).toHaveLength(1);
    expect(s.toolResults()[0]?.text).toBe('{"opened":true,"window_id":"w2"}');

    other.resume();
    await s.settled();
    expect(s.requests).toHaveLength(2);
    expect(roles(s.requests[1])).toEqual(["user", "user"]);
    expect(first(s.requests[1])).toContain("window, w2");
    expect(texts(s.requests[1])[1]).toContain("RESUMED");

    other.release();
    await s.prompt("another one");
    expect(s.requests).toHaveLength(4);
    expect(first(s.requests[3])).toContain("window, w3");
  });

  it("a mixed batch goes on, as the host's loop does, and nothing is sent twice", async () => {
    const other = owner();
    const s = await pi({
      factories: [slowTool, other.factory],
      next: (_request, n) => (n === 0 ? [call("slow", { ms: 1 }), call("new_context")] : "done"),
    });
    await s.prompt("go");
    expect(s.requests).toHaveLength(2);
    expect(roles(s.requests[1])).toEqual(["user"]);
  });

  it("a checkpoint under a fence opens the window all the same, and the owner resumes in it", async () => {
    const other = owner();
    const s = await pi({
      factories: [slowTool, other.factory],
      next: (_request, n) => {
        if (n === 0) return using(185_000, call("slow", { ms: 1 }));
        return n === 1
          ? using(186_000, call("notes_write_file", { path: "a.md", text: "state" }))
          : using(1_000, text("ok"));
      },
    });
    await s.prompt("go");
    expect(s.requests).toHaveLength(2);
    other.resume();
    await s.settled();
    expect(s.requests).toHaveLength(3);
    expect(first(s.requests[2])).toContain("window, w2");
    expect(texts(s.requests[2])[1]).toContain("RESUMED");
  });

  it("the published snapshots name each phase in order, with a sequence that only grows", async () => {
    const other = owner();
    const s = await pi({
      factories: [slowTool, other.factory],
      next: (_request, n) => {
        if (n === 0) return using(150_000, call("slow", { ms: 1 }));
        if (n === 1) return using(185_000, call("slow", { ms: 1 }));
        if (n === 2) return using(186_000, call("notes_write_file", { path: "a.md", text: "state" }));
        return using(1_000, text("ok"));
      },
    });
    await s.prompt("go");
    other.resume();
    await s.settled();
    // 0.73.1 compacts when the run has ended, as it would without us; newer hosts refuse so short a session.
    const seen = other.states
      .map(({ phase, windowId }) => `${windowId} ${phase}`)
      .filter((one) => s.host.name !== "0.73.1" || one !== "w2 rolling_over");
    expect(seen.filter((one, at) => one !== seen[at - 1])).toEqual([
      "w1 ready",
      "w1 reminded",
      "w1 checkpoint_required",
      "w2 rollover_pending",
      "w2 ready",
    ]);
    const sequence = other.states.map((one) => one.sequence);
    expect(sequence).toEqual([...sequence].sort((a, b) => a - b));
    expect(new Set(sequence).size).toBe(sequence.length);
  });
});
