// What the proxy of an editor hears from real sessions over its socket: the list of the shown branch, after each change and
// each rebuild, and of the root only.
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { loadHost } from "../../fixtures/pi/hosts.ts";
import { call } from "../../fixtures/pi/scripted-model.ts";
import { until } from "../../fixtures/pi/wait.ts";
import { openPlanSocket, type PlanSocket } from "../../src/acp/plan-socket.ts";
import { ACP_SOCKET_VARIABLE, type PlanPush } from "../../src/acp/wire.ts";
import { item } from "../todo/items.ts";
import { closeAfterEach, pi } from "./support.ts";

const pushes: PlanPush[] = [];
const problems: string[] = [];
let socket: PlanSocket;

beforeAll(async () => {
  socket = await openPlanSocket({
    onPush: (push) => pushes.push(push),
    onGarbage: (problem) => problems.push(problem),
  });
  process.env[ACP_SOCKET_VARIABLE] = socket.path;
});
beforeEach(() => void pushes.splice(0));
closeAfterEach();
afterAll(() => {
  delete process.env[ACP_SOCKET_VARIABLE];
  socket.close();
  expect(problems).toEqual([]);
});

const LIMIT_MS = 20_000;
const QUIET_MS = 150;

/** The contents and session of each push, once that many have come and no more do. */
async function heard(count: number): Promise<readonly (readonly [string, ...string[]])[]> {
  await until(`${count} pushes`, () => pushes.length >= count, { limitMs: LIMIT_MS });
  await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
  return pushes
    .splice(0)
    .map(({ sessionId, entries }) => [sessionId, ...entries.map(({ content }) => content)] as const);
}

it("is told of new sessions, writes, /todos clear, the tree, reload, resume and forks", async () => {
  const lists = [[item("one", "in_progress"), item("two")], [item("two", "in_progress")]];
  const s = await pi({ next: (_request, n) => (lists[n] ? [call("todo_write", { todos: lists[n] })] : "done") });
  const id = s.session.sessionId;
  expect(await heard(1)).toEqual([[id]]);
  await s.prompt("go");
  expect(await heard(2)).toEqual([
    [id, "one", "two"],
    [id, "two"],
  ]);

  const [earlier, later] = s.toolResults();
  await s.session.navigateTree(earlier?.id ?? "");
  expect(await heard(1)).toEqual([[id, "one", "two"]]);
  await s.session.navigateTree(later?.id ?? "");
  expect(await heard(1)).toEqual([[id, "two"]]);
  await s.session.reload();
  expect(await heard(1)).toEqual([[id, "two"]]);

  const path = s.session.sessionFile ?? "";
  await s.dispose();
  const again = await pi({ next: () => "hello", session: { path } });
  expect(await heard(1)).toEqual([[id, "two"]]);
  const { codingAgent } = await loadHost();
  const session = codingAgent.SessionManager.forkFrom(path, s.project, `${s.directory}/forks`);
  const forked = await pi({ next: () => "hello", session });
  expect(await heard(1)).toEqual([[forked.session.sessionId, "two"]]);
  await again.session.prompt("/todos clear");
  expect(await heard(1)).toEqual([[id]]);
});

it("keeps up with sessions beside each other, and a session goes on when the socket is gone", async () => {
  const next = () => [call("todo_write", { todos: [item("mine", "in_progress")] })];
  const script = () => (_request: unknown, n: number) => (n === 0 ? next() : "done");
  const [one, two] = [await pi({ next: script() }), await pi({ next: script() })];
  await heard(2);
  await Promise.all([one.prompt("go"), two.prompt("go")]);
  const told = await heard(2);
  expect(new Set(told)).toEqual(new Set([one, two].map(({ session }) => [session.sessionId, "mine"])));
  socket.close();
  const three = await pi({ next: script() });
  await three.prompt("go");
  await one.prompt("again");
  expect(three.toolResults()[0]).toMatchObject({ isError: false });
  expect(three.session.messages.at(-1)).toMatchObject({ role: "assistant" });
});
