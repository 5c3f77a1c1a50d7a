// /tasks without a session: what is offered while it is typed, what a stop says, and which files a folder names.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { until } from "../../fixtures/pi/wait.ts";
import type { HostContext } from "../../src/host/api.ts";
import type { TaskBoard } from "../../src/ui/task-acts.ts";
import { filesNamed } from "../../src/ui/task-save.ts";
import { tasksCommand } from "../../src/ui/tasks-command.ts";
import { bench, runnerOf } from "../dispatch/dispatchers.ts";

function commandOn(board: TaskBoard) {
  const shown: string[] = [];
  const command = tasksCommand({
    board: async () => board,
    openBoard: async () => board,
    todosOf: async () => [],
    absolute: (path) => path,
    ask: async () => false,
    show: (_ctx, text) => void shown.push(text),
    started: () => undefined,
    tell: () => undefined,
    columns: () => undefined,
    endsWithRun: () => false,
    print: async () => {},
  });
  return { command, shown };
}

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
  const { command } = commandOn(dispatcher);
  const offered = (await command.getArgumentCompletions?.(`${id} save `)) ?? [];
  expect(offered.map(({ value }) => value).sort()).toEqual([`${id} save "two  spaces.txt"`, `${id} save plain.txt`]);
});

it("says how a task ended that was over before it could be stopped", async () => {
  let release = () => {};
  const { dispatcher } = bench([
    runnerOf(async ({ onEvent }) => {
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      onEvent({ type: "answer", text: "ok" });
    }),
  ]);
  const handle = await dispatcher.dispatch({ goal: "g" });
  const { id } = handle.task;
  await until("it runs", () => dispatcher.active()[0]?.progress === "started");
  const board: TaskBoard = {
    list: (options) => dispatcher.list(options),
    ids: () => dispatcher.ids(),
    get: (...asked) => dispatcher.get(...asked),
    openFile: (...asked) => dispatcher.openFile(...asked),
    rerun: (...asked) => dispatcher.rerun(...asked),
    remove: (...asked) => dispatcher.remove(...asked),
    active: () => dispatcher.active(),
    running: (asked) => dispatcher.running(asked),
    cancel: async (...asked) => {
      release();
      await handle.result;
      await dispatcher.cancel(...asked);
    },
  };
  const { command, shown } = commandOn(board);
  await command.handler(`stop ${id}`, {} as HostContext);
  expect(shown).toEqual([expect.stringContaining(`Task ${id} is completed: it ended before it could be stopped.`)]);
});

it("means the newest of files that two runs have left under one path", async () => {
  let run = 0;
  const { dispatcher } = bench([
    runnerOf(({ cwd, onEvent }) => {
      mkdirSync(join(cwd, "work", "site"));
      writeFileSync(join(cwd, "work", "site", "a.txt"), `of run ${++run}`);
      onEvent({ type: "answer", text: "ok" });
    }),
  ]);
  const { id } = await (await dispatcher.dispatch({ goal: "g" })).result;
  const task = await (await dispatcher.rerun(id)).result;
  expect(task.intermediates.map(({ path }) => path)).toEqual(["site/a.txt", "site/a.txt"]);
  expect(filesNamed(task, "site")).toEqual([task.intermediates[0]]);
  expect(filesNamed(task, "a.txt")).toEqual([task.intermediates[0]]);
});
