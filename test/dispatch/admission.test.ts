// What is asked before a task is taken, where several dispatchers of one root task are asked at once: a quota counts every task
// that was taken, and a later run does not take the address of another agent.
import { describe, expect, it } from "vitest";
import type { Quota } from "../../src/dispatch/quota.ts";
import { inMemory, newPlace } from "../task/tasks.ts";
import { answering, bench } from "./dispatchers.ts";

const onlyTasks = (most: number) => (tasks: number) =>
  tasks < most ? ({ allowed: true } as const) : ({ allowed: false, reason: `there are ${tasks} tasks` } as const);

/** Resolves for everybody once so many wait. */
function meeting(size: number): () => Promise<void> {
  let come = 0;
  let open = () => {};
  const all = new Promise<void>((resolve) => {
    open = resolve;
  });
  return () => {
    if (++come >= size) open();
    return all;
  };
}

describe("a quota that two dispatchers ask at once", () => {
  it("lets through as many tasks as it allows, and leaves nothing of the others", async () => {
    const place = newPlace();
    const meet = meeting(3);
    const asked: number[] = [];
    const allows = onlyTasks(1);
    const quota: Quota = async ({ tasks }) => {
      asked.push(tasks);
      // All three have been told that there are no tasks yet.
      if (tasks === 0) await meet();
      return allows(tasks);
    };
    const one = bench([answering("x")], { place, quota });
    const two = bench([answering("x")], { place, quota });
    const attached = one.file("a.txt", "a");
    const settled = await Promise.allSettled(
      [one, two, one].map(({ dispatcher }) => dispatcher.dispatch({ goal: "g", attachments: [attached] })),
    );
    const refused = settled.flatMap((each) => (each.status === "rejected" ? [String(each.reason.message)] : []));
    expect(refused).toHaveLength(2);
    for (const message of refused) expect(message).toContain("there are 1 tasks. Nothing was stored.");
    expect(await one.dispatcher.ids()).toHaveLength(1);
    expect(asked.sort()).toEqual([0, 0, 0, 1, 1]);
  });

  it("is asked once where no other task was taken meanwhile", async () => {
    const place = newPlace();
    let asked = 0;
    const two = bench([answering("x")], {
      place,
      quota: async () => {
        asked++;
        return { allowed: true };
      },
    });
    await two.dispatcher.dispatch({ goal: "g" });
    await two.dispatcher.dispatch({ goal: "g", agentName: "named" });
    expect(asked).toBe(2);
  });
});

describe("a later run", () => {
  it("is refused where its address is another agent's, and its task keeps what it has", async () => {
    const { dispatcher, place, task } = bench([answering("x")]);
    const first = await (await dispatcher.dispatch({ goal: "g", agentName: "writer" })).result;
    const { task: other } = place.open(inMemory("other"), {
      membership: { ...task.context, parentAgentName: "/root", agentName: "/root/writer_run2", required: true },
    });
    await other.join();
    await expect(dispatcher.rerun(first.id)).rejects.toMatchObject({
      code: "name_collision",
      message: expect.stringMatching(/\/root\/writer_run2 is another agent of this root task.*Nothing was changed/),
    });
    expect(await dispatcher.get(first.id)).toEqual(first);
  });
});
