// A membership from outside: what is taken, and what is refused with the field, its value and the way out.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { TokenBudgetError } from "../../src/errors.ts";
import { parseMembership } from "../../src/task/context.ts";

const GOOD = { version: 1, runId: "r-1", storageRoot: "/sessions/pi-token-budget", rootSessionId: "r-1" };

describe("a membership", () => {
  test("is taken as it is, with nothing added", () => {
    expect(parseMembership(GOOD)).toEqual(GOOD);
    const named = { ...GOOD, parentAgentName: "/root/a", agentName: "b/c", category: null };
    expect(parseMembership(named)).toEqual(named);
    expect(parseMembership({ ...GOOD, agentName: undefined, category: " S " })).toEqual({ ...GOOD, category: "s" });
    expect(JSON.parse(JSON.stringify(parseMembership(named)))).toEqual(named);
  });

  test.each<[string, unknown, string, RegExp]>([
    ["no object", "x", "invalid_argument", /^task is "x", not an object\. Pass \{ \.\.\.task\.context/],
    ["null", null, "invalid_argument", /not an object/],
    ["a list", [], "invalid_argument", /not an object/],
    ["an unknown field", { ...GOOD, agent: "x" }, "unknown_field", /unknown field "agent"; there are version, runId/],
    ["nothing", {}, "missing_field", /task\.version is missing/],
    ["no runId", { ...GOOD, runId: undefined }, "invalid_argument", /task\.runId is undefined/],
    ["a runId of spaces", { ...GOOD, runId: " " }, "invalid_argument", /task\.runId is " "/],
    ["a control character", { ...GOOD, rootSessionId: "a\0" }, "invalid_argument", /task\.rootSessionId/],
    ["a long id", { ...GOOD, runId: "x".repeat(257) }, "invalid_argument", /task\.runId is "xx.*…; .*256 characters/],
    ["a relative path", { ...GOOD, storageRoot: "a/b" }, "invalid_argument", /storageRoot is "a\/b"; .*absolute path/],
    ["a number for a path", { ...GOOD, storageRoot: 1 }, "invalid_argument", /task\.storageRoot is 1/],
    ["a newer version", { ...GOOD, version: 2 }, "newer_format", /reads up to 1\. Update pi-token-budget/],
    ["version 0", { ...GOOD, version: 0 }, "invalid_argument", /task\.version is 0; it must be 1/],
    ["a text as version", { ...GOOD, version: "1" }, "invalid_argument", /task\.version is "1"/],
    ["a relative parent", { ...GOOD, parentAgentName: "a" }, "invalid_address", /parentAgentName is "a"/],
    ["null as parent", { ...GOOD, parentAgentName: null }, "invalid_argument", /task\.parentAgentName is null/],
    [
      "a name of the root",
      { ...GOOD, agentName: "/root" },
      "invalid_address",
      /agentName is "\/root": it is not below/,
    ],
    ["a reserved name", { ...GOOD, agentName: "notes" }, "invalid_address", /agentName is "notes": names are/],
    ["an empty category", { ...GOOD, category: "" }, "invalid_argument", /task\.category is ""/],
  ])("with %s is refused", (_name, value, code, message) => {
    expect(() => parseMembership(value)).toThrow(expect.objectContaining({ code }));
    expect(() => parseMembership(value)).toThrow(message);
  });

  test("of any shape is taken or refused with our error", () => {
    const fields = fc.record(
      Object.fromEntries(
        [...Object.keys(GOOD), "parentAgentName", "agentName", "category"].map((key) => [
          key,
          fc.oneof(fc.constant(GOOD[key as keyof typeof GOOD]), fc.anything()),
        ]),
      ),
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(fields, fc.anything()), (value) => {
        try {
          parseMembership(value);
        } catch (error) {
          expect(error).toBeInstanceOf(TokenBudgetError);
        }
      }),
    );
  });
});
