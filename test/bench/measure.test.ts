// The runner of the benches: what counts as a miss. Nothing here depends on how fast anything is.
import { describe, expect, it } from "vitest";
import { GeneratedLog } from "../../bench/generated.ts";
import { run } from "../../bench/measure.ts";

/** Work that takes far longer than nothing. */
function long(): number {
  let sum = 0;
  for (let i = 0; i < 200_000; i++) sum += Math.sqrt(i);
  return sum;
}

describe("a race", () => {
  it("is missed only after two runs, and won without a second one", async () => {
    const race = { name: "n", against: "a", ours: long, reference: long };
    expect(await run({ ...race, goal: Number.POSITIVE_INFINITY }, 1)).toMatchObject({ missed: false, name: "n" });
    expect(await run({ ...race, goal: 0 }, 1)).toMatchObject({ missed: true });
  });

  it("may say its figures itself, and be allowed some milliseconds more than its goal", async () => {
    const race = {
      name: "n",
      against: "a",
      goal: 1,
      isFigure: true,
      samplesMin: 2,
      ours: () => 140,
      reference: () => 100,
    };
    expect(await run({ ...race, allowanceMs: 40 }, 1)).toMatchObject({ missed: false, ratio: 1.4, allowance_ms: 40 });
    expect(await run({ ...race, allowanceMs: 39 }, 1)).toMatchObject({ missed: true });
  });

  it("waits for work that is asynchronous and prepares before each sample", async () => {
    const seen: string[] = [];
    const ours = async () => {
      await Promise.resolve();
      seen.push("ours");
    };
    const race = { name: "n", against: "a", goal: Number.POSITIVE_INFINITY, waitsFor: "disk" as const };
    await run({ ...race, ours, reference: () => seen.push("theirs"), prepare: () => void seen.push("prepared") }, 1);
    expect(seen.slice(0, 6)).toEqual(["ours", "theirs", "prepared", "ours", "theirs", "prepared"]);
  });
});

describe("the generated session", () => {
  it("is the same every time, and its ids differ", () => {
    const [one, two] = [new GeneratedLog(600), new GeneratedLog(600)];
    expect(JSON.stringify(one.entries)).toBe(JSON.stringify(two.entries));
    expect(new Set(one.entries.map(({ id }) => id)).size).toBe(600);
  });
});
