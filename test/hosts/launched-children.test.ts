// What a launcher asks of a session's task: a child of its own name in another process, and tasks, also when the session
// has ended.
import { basename, dirname } from "node:path";
import { expect, it } from "vitest";
import { createTaskDispatcher, getTokenBudgetTask, type TokenBudgetTask } from "../../api.ts";
import { runPi } from "../../fixtures/pi/cli.ts";
import type { OpenOptions, PiSession } from "../../fixtures/pi/session.ts";
import { closeAfterEach, pi } from "./support.ts";

closeAfterEach();

const MINUTES = 60_000;

async function rooted(options: Partial<OpenOptions> = {}): Promise<{ session: PiSession; task: TokenBudgetTask }> {
  let events: Parameters<typeof getTokenBudgetTask>[0]["events"] | undefined;
  const keep: NonNullable<OpenOptions["factories"]>[number] = (api) => {
    events = api.events;
  };
  const session = await pi({ next: () => "yes", ...options, factories: [keep] });
  const task = events && getTokenBudgetTask({ events });
  if (!task) throw new Error("no task in this session");
  return { session, task };
}

const child = `() => "a child is done"`;

it(
  "childExtension makes a child in another process what it is told to be: its name, its parent",
  async () => {
    const { session, task } = await rooted();
    await session.prompt("hello");
    const automatic = await task.childExtension();
    expect(basename(automatic)).toBe("child-extension.ts");
    const named = await task.childExtension({ agentName: "reviewer" });
    expect(named).not.toBe(automatic);
    expect(dirname(named)).toBe(dirname(automatic));
    expect(await task.childExtension({ agentName: "reviewer" })).toBe(named);
    const launched = (entry: string) =>
      runPi({ extensions: [entry], model: { source: child }, prompt: "Work.", mode: "json" });
    expect((await launched(named)).stderr).toBe("");
    const below = await task.childExtension({ agentName: "checker", parentAgentName: "/root/reviewer" });
    expect((await launched(below)).stderr).toBe("");
    expect(task.agents().map(({ agentName, parentAgentName }) => [agentName, parentAgentName])).toEqual([
      ["/root", null],
      ["/root/reviewer", "/root"],
      ["/root/reviewer/checker", "/root/reviewer"],
    ]);
  },
  2 * MINUTES,
);

it("childExtension says what is wrong with a place", async () => {
  const { task } = await rooted();
  const loose = task.childExtension as (...given: unknown[]) => Promise<string>;
  await expect(loose({ name: "x" })).rejects.toMatchObject({ code: "unknown_field" });
  await expect(loose("reviewer")).rejects.toThrow(/the child must be an object, not "reviewer"\. There are agentName/);
  await expect(loose({ agentName: 5 })).rejects.toThrow(/agentName is 5; it must be a text/);
  await expect(loose({ agentName: "Not A Name" })).rejects.toMatchObject({ code: "invalid_address" });
  await expect(loose({ agentName: "x", parentAgentName: "other" })).rejects.toMatchObject({ code: "invalid_address" });
});

it("a dispatcher refuses a model that the host does not have, and names those it has", async () => {
  const { task } = await rooted({ provider: "launched" });
  const dispatcher = createTaskDispatcher(task);
  const asked = dispatcher.dispatch({ goal: "g", model: "zz/zz" });
  await expect(asked).rejects.toThrow(
    /^model is "zz\/zz", which is not one of the host's models with credentials: .*launched\/.*Name one of these, or leave model out/,
  );
  await expect(dispatcher.list()).resolves.toEqual([]);
  await dispatcher.close();
});

it("a dispatcher whose session has ended says so", async () => {
  const { session, task } = await rooted();
  const dispatcher = createTaskDispatcher(task, { route: () => undefined });
  const direct = createTaskDispatcher(task);
  expect(task.ended).toBe(false);
  await session.prompt("hello");
  await session.dispose();
  expect(task.ended).toBe(true);
  for (const each of [dispatcher, direct]) {
    const refused = { code: "refused", message: expect.stringMatching(/^This session has ended; /) };
    await expect(each.dispatch({ goal: "g" })).rejects.toMatchObject(refused);
    await expect(each.dispatch({ goal: "g", runner: "cli" })).rejects.toMatchObject(refused);
    await expect(each.list()).resolves.toEqual([]);
    await each.close();
  }
});
