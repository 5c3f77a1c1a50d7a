// The extension's end, against a real socket: which lists go over, and that nothing of it can trouble a session.
import { existsSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { run } from "../../fixtures/pi/cli.ts";
import { scratchFolder } from "../../fixtures/pi/environment.ts";
import { loadHost, PACKAGE_DIR } from "../../fixtures/pi/hosts.ts";
import { openPlanSocket, type PlanSocket } from "../../src/acp/plan-socket.ts";
import { type Publisher, startPublisher } from "../../src/acp/publisher.ts";
import { ACP_SOCKET_VARIABLE, type PlanPush } from "../../src/acp/wire.ts";
import { until } from "./editor.ts";

const CHANNEL = "pi-token-budget:todo";
const { codingAgent } = await loadHost();

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

function publishTo(path: string) {
  const events = codingAgent.createEventBus();
  const publisher = startPublisher(events, { [ACP_SOCKET_VARIABLE]: path }) as Publisher;
  closing.push(() => publisher.stop());
  const tell = (sessionId: string, ...contents: string[]) =>
    events.emit(CHANNEL, {
      sessionId,
      agent: "/root",
      todos: contents.map((content) => ({ content, status: "pending" })),
    });
  return { events, publisher, tell };
}

async function planSocket(): Promise<PlanSocket & { pushes: PlanPush[]; problems: string[] }> {
  const pushes: PlanPush[] = [];
  const problems: string[] = [];
  const socket = await openPlanSocket({
    onPush: (push) => pushes.push(push),
    onGarbage: (problem) => problems.push(problem),
  });
  closing.push(() => socket.close());
  return { ...socket, pushes, problems };
}

/** A socket of ours whose connections the test holds. */
async function bareServer(): Promise<{ server: Server; path: string; connections: Socket[] }> {
  const path = join(scratchFolder(), "s");
  const connections: Socket[] = [];
  const server = createServer((socket) => {
    connections.push(socket);
    socket.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  closing.push(() => {
    for (const socket of connections) socket.destroy();
    server.close();
  });
  return { server, path, connections };
}

describe("the publisher", () => {
  it("is not there when no proxy asks for plans", () => {
    expect(startPublisher(codingAgent.createEventBus(), {})).toBeUndefined();
    expect(startPublisher(codingAgent.createEventBus(), { [ACP_SOCKET_VARIABLE]: "" })).toBeUndefined();
  });

  it("pushes the root's list as a plan, the empty one too", async () => {
    const { path, pushes, problems } = await planSocket();
    const { tell } = publishTo(path);
    tell("s", "one", "two");
    await until("the push", () => pushes.length === 1);
    tell("s");
    await until("the second", () => pushes.length === 2);
    const pending = { status: "pending", priority: "medium" };
    expect(pushes).toEqual([
      {
        sessionId: "s",
        entries: [
          { content: "one", ...pending },
          { content: "two", ...pending },
        ],
      },
      { sessionId: "s", entries: [] },
    ]);
    expect(problems).toEqual([]);
  });

  it("pushes no child's list and nothing that is no list", async () => {
    const { path, pushes, problems } = await planSocket();
    const { events, tell } = publishTo(path);
    const todos = [{ content: "one", status: "pending" }];
    for (const data of [
      { sessionId: "s", agent: "/root/reviewer", todos },
      { sessionId: "s", todos },
      { sessionId: 1, agent: "/root", todos },
      { sessionId: "s", agent: "/root", todos: "none" },
      { sessionId: "s", agent: "/root", todos: [{ content: "one", status: "cancelled" }] },
      undefined,
      null,
      "text",
    ])
      events.emit(CHANNEL, data);
    tell("s", "the root's");
    await until("the push", () => pushes.length > 0);
    expect(pushes.map(({ entries }) => entries[0]?.content)).toEqual(["the root's"]);
    expect(problems).toEqual([]);
  });

  it("pushes nothing after it was stopped, and what it was told before", async () => {
    const { path, pushes } = await planSocket();
    const { tell, publisher } = publishTo(path);
    tell("s", "before");
    publisher.stop();
    tell("s", "after");
    await until("the push", () => pushes.length > 0);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(pushes.map(({ entries }) => entries[0]?.content)).toEqual(["before"]);
  });

  it("sends the newest list of each session again when the connection is lost, and gives up in the end", async () => {
    const { path, connections } = await bareServer();
    const { tell } = publishTo(path);
    tell("a", "one");
    tell("b", "two");
    for (let n = 0; n < 6; n++) {
      await until(`connection ${n}`, () => connections.length === n + 1);
      const socket = connections[n];
      const received = await new Promise<string>((resolve) => {
        let text = "";
        socket?.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
          if (text.includes("one") && text.includes("two")) resolve(text);
        });
      });
      expect(received.trimEnd().split("\n")).toHaveLength(2);
      socket?.destroy();
    }
    tell("a", "three");
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(connections).toHaveLength(6);
  });

  it("does nothing when nobody listens there", async () => {
    const path = join(scratchFolder(), "nobody");
    const { tell } = publishTo(path);
    for (let n = 0; n < 100; n++) tell("s", `${n}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
    for (let n = 0; n < 100; n++) tell("s", `${n}`);
    expect(existsSync(path)).toBe(false);
  });

  it("keeps only the newest list for an end that does not read", async () => {
    const { path, connections } = await bareServer();
    const { tell } = publishTo(path);
    tell("s", "first");
    await until("the connection", () => connections.length === 1);
    connections[0]?.pause();
    const large = "x".repeat(300_000);
    for (let n = 0; n < 300; n++) {
      tell("s", `${n} ${large}`);
      await new Promise((resolve) => setImmediate(resolve));
    }
    let text = "";
    connections[0]?.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    connections[0]?.resume();
    await until("the newest", () => text.includes('"299 x') && text.endsWith("\n"));
    expect(text.length).toBeLessThan(20 * large.length);
  });

  it("lets the process end", async () => {
    const { path } = await bareServer();
    const source = `
      import { startPublisher } from ${JSON.stringify(join(PACKAGE_DIR, "src/acp/publisher.ts"))};
      let tell;
      startPublisher({ on: (_channel, handler) => { tell = handler; return () => {}; } }, { ${ACP_SOCKET_VARIABLE}: ${JSON.stringify(path)} });
      tell({ sessionId: "s", agent: "/root", todos: [] });
      setTimeout(() => {}, 300);`;
    const ran = await run(process.execPath, ["--import", "tsx", "--input-type=module", "-e", source], {
      cwd: PACKAGE_DIR,
      limitMs: 20_000,
    });
    expect(ran).toMatchObject({ code: 0, stderr: "" });
  });
});
