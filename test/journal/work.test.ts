// A long first fill says how far it is and can be stopped; a later one goes on where it was left.
import { describe, expect, test } from "vitest";
import type { Work } from "../../src/storage/work.ts";
import { TestLog } from "../log/branches.ts";
import { ids, idsOf, newDirectory, readerOf, talk, writerOf } from "./journals.ts";

interface Told extends Work {
  readonly steps: (readonly [done: number, total: number])[];
}

function told(stopAfter = Number.POSITIVE_INFINITY): Told {
  const controller = new AbortController();
  const steps: [number, number][] = [];
  return {
    steps,
    signal: controller.signal,
    report: (done, total) => {
      steps.push([done, total]);
      if (steps.length >= stopAfter) controller.abort();
    },
  };
}

function longLog(): TestLog {
  const log = new TestLog();
  talk(log, 400);
  for (let number = 0; number < 40; number++) log.user(`long ${number} ${"x".repeat(100_000)}`);
  return log;
}

describe("a long sync", () => {
  test("tells how far it is, never backwards, and that it has ended", async () => {
    const log = longLog();
    const work = told();
    await writerOf(newDirectory(), { work }).sync(log);
    const done = work.steps.map(([count]) => count);
    expect(done.length).toBeGreaterThan(3);
    expect(done).toEqual([...done].sort((left, right) => left - right));
    const [last, total] = work.steps.at(-1) ?? [];
    expect(last).toBe(total);
    expect(total).toBeLessThanOrEqual(log.entries.length);
  });

  test("that is stopped shows nothing of it, and the next writer makes it whole", async () => {
    const directory = newDirectory();
    const log = longLog();
    const work = told(2);
    const writer = writerOf(directory, { work });
    await expect(writer.sync(log)).rejects.toMatchObject({ code: "refused" });
    expect(work.steps).toHaveLength(2);
    expect((await readerOf(directory).refresh()).rows.length).toBe(0);
    await expect(writer.sync(log)).rejects.toMatchObject({ code: "refused" });
    const rest = told();
    await writerOf(directory, { work: rest }).sync(log);
    expect(idsOf(await readerOf(directory).refresh())).toEqual(ids(log));
    expect(rest.steps[0]?.[1]).toBeLessThan(log.entries.length);
  });

  test("of a few entries tells nothing", async () => {
    const log = new TestLog();
    talk(log, 3);
    const work = told();
    await writerOf(newDirectory(), { work }).sync(log);
    expect(work.steps).toEqual([]);
  });
});
