// Bytes without a record, looked at by a process whose clock is wrong: those of a dispatch that goes on stay.
import { mkdirSync, readdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { answering, bench } from "./dispatchers.ts";

const DAY_MS = 86_400_000;
const [YOUNG, YET_TO_COME] = ["0123456789abcdef", "fedcba9876543210"];

afterEach(() => {
  vi.useRealTimers();
});

it.each([DAY_MS, -DAY_MS])("with a clock that is %d ms off nothing goes but what is of no present time", async (ms) => {
  const { dispatcher, records, place } = bench([answering("x")]);
  const { id } = await (await dispatcher.dispatch({ goal: "g" })).result;
  for (const name of [YOUNG, YET_TO_COME]) mkdirSync(join(records, name));
  const later = new Date(Date.now() + 2 * DAY_MS);
  utimesSync(join(records, YET_TO_COME), later, later);
  await dispatcher.close();
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + ms });
  const next = bench([answering("x")], { place });
  await next.dispatcher.list();
  expect(readdirSync(records).sort()).toEqual([YOUNG, `${id}.json`].sort());
});
