// Figures as people read them.
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { counted, grouped, localTime } from "../src/figures.ts";

const zone = process.env.TZ;
afterEach(() => {
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

describe("figures for people", () => {
  it("have digit groups and the right plural", () => {
    expect([0, 1, 2, 12_000].map((count) => counted(count, "item"))).toEqual([
      "0 items",
      "1 item",
      "2 items",
      "12,000 items",
    ]);
    expect(counted(2, "note begins", "notes begin")).toBe("2 notes begin");
    expect(grouped(1_234_567)).toBe("1,234,567");
  });

  it.each([
    ["UTC", "2026-07-01 12:30 UTC"],
    ["Europe/Berlin", "2026-07-01 14:30 UTC+2"],
    ["America/St_Johns", "2026-07-01 10:00 UTC-2:30"],
    ["Pacific/Kiritimati", "2026-07-02 02:30 UTC+14"],
  ])("give a time on the clock of %s", (name, shown) => {
    process.env.TZ = name;
    expect(localTime("2026-07-01T12:30:59.999Z")).toBe(shown);
  });

  it("give the same moment in every zone, in winter as in summer", () => {
    const zones = ["UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Pacific/Kiritimati"];
    const moments = fc.date({ min: new Date("2000-01-01"), max: new Date("2090-01-01"), noInvalidDate: true });
    fc.assert(
      fc.property(moments, fc.constantFrom(...zones), (moment, name) => {
        process.env.TZ = name;
        const [, day, time, sign = "+", hours = "0", minutes = "00"] =
          /^(\S+) (\S+) UTC(?:([+-])(\d+)(?::(\d\d))?)?$/.exec(localTime(moment.toISOString())) ?? [];
        const again = Date.parse(`${day}T${time}:00${sign}${hours.padStart(2, "0")}:${minutes}`);
        expect(again).toBe(Math.floor(moment.getTime() / 60_000) * 60_000);
      }),
    );
  });

  it("leave what is no time as it is", () => expect(localTime("yesterday")).toBe("yesterday"));
});
