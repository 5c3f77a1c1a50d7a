// Stepping aside: the first reason stands, is told once, and is lifted by hand.
import { expect, it } from "vitest";
import { Aside, type AsideReason, asideText } from "../../src/window/aside.ts";

const FULL: AsideReason = {
  short: "disk full",
  because: "the disk is full",
  wayBack: "Make room, then /token-budget on.",
};

it("is told once with its first reason, and again only after it was lifted", () => {
  const told: string[] = [];
  const aside = new Aside((reason) => void told.push(asideText(reason)));
  expect(aside.reason).toBeUndefined();
  aside.stepAside(FULL);
  aside.stepAside({ ...FULL, because: "another one" });
  expect(aside.reason).toBe(FULL);
  expect(told).toEqual([
    "Windows are off in this session and Pi compacts by itself: the disk is full. Make room, then /token-budget on.",
  ]);
  aside.lift();
  expect(aside.reason).toBeUndefined();
  aside.stepAside(FULL);
  expect(told).toHaveLength(2);
  aside.lift();
  aside.stay(FULL);
  expect(aside.reason).toBe(FULL);
  expect(told).toHaveLength(2);
});
