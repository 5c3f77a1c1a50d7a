// What is wrong with a locator is said by the field that is wrong.
import { expect, it } from "vitest";
import { parseLocation } from "../../src/task/location.ts";

const child = {
  sessionId: "child",
  sessionFile: null,
  sessionCreated: 0,
  runId: "root",
  rootSessionId: "root",
  storageRoot: "/s",
  address: "/root/a",
  parent: "/root",
  version: 1,
};

it.each<[object, string | undefined]>([
  [{}, undefined],
  [{ sessionCreated: "x" }, 'sessionCreated is "x", not a number'],
  [{ parent: null }, "parent is missing: only the root, session root, has none"],
  [{ parent: "/root/b" }, "address is /root/a, not below its parent /root/b"],
  [{ sessionId: "root" }, "address is /root/a, not that of the root"],
])("says what is wrong: %#", (wrong, problem) => {
  const parsed = parseLocation({ ...child, ...wrong });
  expect(parsed).toMatchObject(problem === undefined ? { type: "value" } : { type: "damaged", problem });
});
