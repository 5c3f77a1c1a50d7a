// Folders of very many files, where a task is to work and what a run leaves: a bounded walk in slices, which says what it left
// out, and which a cancel ends.
import nodeFs, { closeSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { heldLongest, LONG_HOLD_MS } from "../hosts/holds.ts";
import { newPlace } from "../task/tasks.ts";
import { answering, bench, runnerOf } from "./dispatchers.ts";

const LIMIT = 20_000;

/** Empty files in a folder, and some in folders of it. */
function fill(folder: string, count: number): void {
  for (let n = 0; n < count; n++) {
    const directory = n % 10 === 0 ? join(folder, `d${n % 100}`) : folder;
    if (n < 100 && n % 10 === 0) mkdirSync(directory, { recursive: true });
    closeSync(openSync(join(directory, `f${n}`), "w"));
  }
}

/** How many files of the folder were looked at so far. */
function looks(folder: string): () => number {
  let count = 0;
  const lstat = nodeFs.lstatSync;
  const spy = vi.spyOn(nodeFs, "lstatSync").mockImplementation(((path: string, ...rest: []) => {
    if (String(path).startsWith(`${folder}/`)) count++;
    return lstat(path, ...rest);
  }) as typeof lstat);
  onTestFinished(() => spy.mockRestore());
  return () => count;
}

describe("a directory to work in", () => {
  it("with more files than are watched is not gone through to its end, and the task says so and works", async () => {
    const cwd = join(newPlace().base, "project");
    mkdirSync(cwd);
    fill(cwd, LIMIT + 5_000);
    const { dispatcher } = bench([answering("ok")]);
    const looked = looks(cwd);
    const { answer, heldMs } = await heldLongest(async () => (await dispatcher.dispatch({ goal: "g", cwd })).result);
    expect(answer).toMatchObject({ status: "completed", error: null });
    expect(answer.steps).toEqual([
      "Changes in the working directory are not named: it has more than 20000 files and folders.",
    ]);
    expect(looked()).toBeLessThan(LIMIT + 200);
    expect(heldMs).toBeLessThan(LONG_HOLD_MS);
  });

  it("is left as soon as the task is cancelled", async () => {
    const cwd = join(newPlace().base, "project");
    mkdirSync(cwd);
    fill(cwd, 15_000);
    let runs = 0;
    const { dispatcher } = bench([runnerOf(() => void runs++)]);
    const looked = looks(cwd);
    const handle = await dispatcher.dispatch({ goal: "g", cwd });
    while (looked() < 100) await new Promise((resolve) => setImmediate(resolve));
    await handle.cancel();
    expect(await handle.result).toMatchObject({ status: "cancelled" });
    expect(looked()).toBeLessThan(10_000);
    expect(runs).toBe(0);
    expect(nodeFs.readdirSync(cwd)).not.toContain(".pi-task");
  });

  it("has its changes named where its files are few enough", async () => {
    const cwd = join(newPlace().base, "project");
    mkdirSync(cwd);
    fill(cwd, 50);
    const { dispatcher } = bench([
      runnerOf(({ onEvent }) => {
        writeFileSync(join(cwd, "f1"), "changed");
        nodeFs.rmSync(join(cwd, "d10", "f10"));
        onEvent({ type: "answer", text: "ok" });
      }),
    ]);
    const { steps } = await (await dispatcher.dispatch({ goal: "g", cwd })).result;
    expect(steps).toEqual(["Changed in the working directory: f1.", "Removed from the working directory: d10/f10."]);
  });
});

describe("a run that leaves very many files", () => {
  it("keeps its products, says that there were more, and does not hold the loop", async () => {
    let letGo = () => {};
    const isFree = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    let isFilled = () => {};
    const filled = new Promise<void>((resolve) => {
      isFilled = resolve;
    });
    const { dispatcher } = bench([
      runnerOf(async ({ cwd, onEvent }) => {
        fill(cwd, LIMIT + 1_000);
        writeFileSync(join(cwd, "output", "a.txt"), "a");
        isFilled();
        await isFree;
        onEvent({ type: "answer", text: "ok" });
      }),
    ]);
    const handle = await dispatcher.dispatch({ goal: "g" });
    await filled;
    const { answer, heldMs } = await heldLongest(() => {
      letGo();
      return handle.result;
    });
    expect(answer).toMatchObject({ status: "completed", outputs: [{ path: "a.txt" }] });
    expect(answer.intermediates).toHaveLength(199);
    expect(answer.steps).toContain("Not collected: what is past 5000 files and folders.");
    expect(heldMs).toBeLessThan(LONG_HOLD_MS);
  });
});
