// What is offered while /tasks is typed: nothing that a terminal would obey.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { tasksCommand } from "../../src/ui/tasks-command.ts";
import { bench, runnerOf } from "../dispatch/dispatchers.ts";

it("offers no path with control characters", async () => {
  const { dispatcher } = bench([
    runnerOf(({ cwd, onEvent }) => {
      for (const name of ["plain.txt", "two  spaces.txt", "red\u001b[31m.txt"])
        writeFileSync(join(cwd, "output", name), "x");
      onEvent({ type: "answer", text: "ok" });
    }),
  ]);
  const { id, outputs } = await (await dispatcher.dispatch({ goal: "g" })).result;
  expect(outputs.map(({ path }) => path)).toContain("red\u001b[31m.txt");
  const command = tasksCommand({
    board: async () => dispatcher,
    openBoard: async () => dispatcher,
    todosOf: async () => [],
    absolute: (path) => path,
    ask: async () => false,
    show: () => undefined,
    started: () => undefined,
    endsWithRun: () => false,
    print: async () => {},
  });
  const offered = (await command.getArgumentCompletions?.(`${id} save `)) ?? [];
  expect(offered.map(({ value }) => value).sort()).toEqual([`${id} save "two  spaces.txt"`, `${id} save plain.txt`]);
});
