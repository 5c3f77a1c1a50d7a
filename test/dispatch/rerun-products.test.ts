// A task that is run again: what its last complete run has made stays until another run has come to its end.
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { until } from "../../fixtures/pi/wait.ts";
import { filesAfterRun } from "../../src/dispatch/record/rules.ts";
import type { FileRow } from "../../src/dispatch/record/schema.ts";
import { RecordStore } from "../../src/dispatch/record/store.ts";
import type { FileView, TaskView } from "../../src/dispatch/task-view.ts";
import { thisProcess } from "../../src/storage/processes.ts";
import { endText, taskText } from "../../src/ui/task-text.ts";
import { bench, runnerOf } from "./dispatchers.ts";

type Writes = (put: (path: string, content: string) => void) => string | undefined;

/** Each run does what its function says: it answers what that returns, and fails where it returns nothing. */
function running(...runs: readonly Writes[]) {
  let run = 0;
  return runnerOf(({ cwd, onEvent }) => {
    const answer = runs[run++]?.((path, content) => {
      mkdirSync(dirname(join(cwd, path)), { recursive: true });
      writeFileSync(join(cwd, path), content);
    });
    if (answer === undefined) throw new Error("no more");
    onEvent({ type: "answer", text: answer });
  });
}

const shown = (files: readonly FileView[]) => files.map(({ path, partial }) => (partial ? `${path} (partial)` : path));
const whole: Writes = (put) => {
  put("output/a.txt", "whole");
  return "done";
};
const half: Writes = (put) => {
  put("output/a.txt", "half");
  put("work/b.txt", "b");
  return undefined;
};

describe("a task that is run again", () => {
  it("keeps its products and its result while it runs, and where the run fails; half a product stands beside them", async () => {
    const { dispatcher } = bench([
      running(whole, half, (put) => {
        put("output/c.txt", "c");
        return "again";
      }),
    ]);
    const { id } = await (await dispatcher.dispatch({ goal: "g" })).result;
    const handle = await dispatcher.rerun(id);
    expect(handle.task).toMatchObject({ status: "processing", result: "done" });
    expect(shown(handle.task.outputs)).toEqual(["a.txt"]);
    expect(taskText(handle.task)).toContain("\nFiles of the run before: a.txt (5 bytes)\n");
    const failed = await handle.result;
    expect(failed).toMatchObject({ status: "failed", error: "no more", result: "done" });
    expect(shown(failed.outputs)).toEqual(["a.txt"]);
    expect(shown(failed.intermediates)).toEqual(["a.txt (partial)", "b.txt (partial)"]);
    const [kept] = failed.outputs;
    expect(await text((await dispatcher.openFile(id, kept?.id ?? "")).stream)).toBe("whole");
    expect(endText(failed)).toContain("Files of the run before: a.txt (5 bytes)");
    expect(taskText(failed)).toMatch(/\n\nThe result of the run before:\ndone$/);
    const last = await (await dispatcher.rerun(id)).result;
    expect(last).toMatchObject({ status: "completed", result: "again" });
    expect(shown(last.outputs)).toEqual(["c.txt"]);
    expect(endText(last)).toContain("  Files: c.txt (1 byte)\n");
  });

  it("has the newest half product where no run has come to its end", async () => {
    const { dispatcher } = bench([running(half, () => undefined, half)]);
    const { id } = await (await dispatcher.dispatch({ goal: "g" })).result;
    const second = await (await dispatcher.rerun(id)).result;
    expect(shown(second.outputs)).toEqual(["a.txt (partial)"]);
    const third = await (await dispatcher.rerun(id)).result;
    expect(shown(third.outputs)).toEqual(["a.txt (partial)"]);
    expect(third.outputs[0]?.id).not.toBe(second.outputs[0]?.id);
    expect(third.intermediates.map((file) => file.id)).toContain(second.outputs[0]?.id);
  });

  it("keeps them when its process dies, and drops their bytes with the end that replaces them", async () => {
    const { dispatcher, records, task } = bench([running(whole, whole)]);
    const { id } = await (await dispatcher.dispatch({ goal: "g" })).result;
    const store = new RecordStore(task.context);
    await store.restart(id, (row) => ({
      ...row,
      status: "processing",
      process: { pid: 2 ** 22 + 1, start: null },
      runs: 2,
    }));
    await store.recover(thisProcess(), { filesOf: () => [] });
    const dead = await dispatcher.get(id);
    expect(dead).toMatchObject({ status: "failed", error: "interrupted", result: "done" });
    expect(shown(dead.outputs)).toEqual(["a.txt"]);
    const again = await (await dispatcher.rerun(id)).result;
    expect(again.outputs).toHaveLength(1);
    await until("one file", () => readdirSync(join(records, id)).length === 1);
    expect(existsSync(join(records, id))).toBe(true);
  });
});

describe("the files after a run", () => {
  const row = (role: FileRow["role"], partial: boolean, n: number) => ({ role, partial, id: String(n) }) as FileRow;
  const rows = (role: FileRow["role"]) =>
    fc.array(fc.boolean(), { maxLength: 3 }).map((all) => all.map((partial, n) => row(role, partial, n)));
  const status = fc.constantFrom<Exclude<TaskView["status"], "processing">>("completed", "failed", "cancelled");

  it("are all there, but for products that a complete run replaces", () => {
    fc.assert(
      fc.property(
        rows("input"),
        rows("output"),
        rows("intermediate"),
        rows("output"),
        status,
        (inputs, old, between, made, end) => {
          const fresh = made.map((each, n) => ({ ...each, id: `new${n}`, partial: end !== "completed" }));
          const { files, dropped } = filesAfterRun([...inputs, ...old, ...between], fresh, end);
          expect(files.length + dropped.length).toBe(inputs.length + old.length + between.length + made.length);
          expect(dropped).toEqual(end === "completed" ? old : []);
          const products = files.filter(({ role }) => role === "output");
          if (end === "completed") expect(products).toEqual(fresh);
          else expect(products).toEqual(fresh.length === 0 || old.some(({ partial }) => !partial) ? old : fresh);
        },
      ),
    );
  });
});
