// A workbook with Chinese dates and amounts, handed over in print mode: its child reads it as its sheet displays it, sums it by
// month with a program of its own, and the new workbook is taken out by a later process.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { ledger } from "../../fixtures/files/ledger.ts";
import { runPi } from "../../fixtures/pi/cli.ts";
import { makeEnvironment } from "../../fixtures/pi/environment.ts";
import { cellsOf, SUMMARY_CELLS, SUMS, WORKING_CHILD } from "./task-people.ts";

it("is summed by month into a new workbook, with every cell right", async () => {
  const environment = makeEnvironment();
  onTestFinished(() => environment.remove());
  const cwd = join(environment.directory, "project");
  mkdirSync(cwd);
  writeFileSync(join(cwd, "账本.xlsx"), await ledger());
  const pi = (prompt: string, ...args: string[]) => runPi({ model: WORKING_CHILD, environment, cwd, prompt, args });
  const ended = await pi("/task --attach 账本.xlsx Sum it by month into 汇总.xlsx");
  expect(ended.stdout).toBe(`Sums in cents:\n${SUMS}\n`);
  const [, id = "none"] = /Task (\w+) is completed/.exec(ended.stderr) ?? [];
  expect((await pi(`/tasks ${id.slice(0, 6)} save 汇总.xlsx 报表/`, "-c")).stderr).toContain(
    "Saved 1 file: 报表/汇总.xlsx.",
  );
  expect(cellsOf(join(cwd, "报表", "汇总.xlsx"))).toEqual(SUMMARY_CELLS);
});
