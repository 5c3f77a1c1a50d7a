// The quiet times of 0.73.1: what the usual ones are, and that only a shorter tick changes them.
import { describe, expect, it } from "vitest";
import { quietMs, quietTickMs } from "../../src/host/settled.ts";

const VARIABLE = "PI_TOKEN_BUDGET_QUIET_TICK_MS";

describe("the quiet times", () => {
  it("are the usual ones without the variable, and with a value that is no shorter tick", () => {
    for (const given of [undefined, "", "0", "-1", "26", "fast", "NaN", "Infinity"])
      expect(quietTickMs({ [VARIABLE]: given }), String(given)).toBe(25);
  });

  it("all follow from the tick", () => {
    const times = (tickMs: number) => [
      quietMs(tickMs, "run"),
      quietMs(tickMs, "compaction"),
      quietMs(tickMs, { backOffMs: 2_000 }),
    ];
    expect(times(quietTickMs({}))).toEqual([150, 200, 2_500]);
    expect(times(quietTickMs({ [VARIABLE]: "10" }))).toEqual([60, 140, 2_200]);
  });

  it("after a compaction are always longer than the host waits before it continues", () => {
    for (const tickMs of [1, 5, 25]) expect(quietMs(tickMs, "compaction")).toBeGreaterThan(100);
  });
});
