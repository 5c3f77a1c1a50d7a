import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import fc from "fast-check";
import { expect, it } from "vitest";
import { schemaProblem } from "../src/schema-check.ts";

const closed = { additionalProperties: false };
const schema = Type.Object(
  {
    id: Type.String({ pattern: "^[a-z]{2,4}$" }),
    name: Type.Union([Type.Null(), Type.String({ minLength: 1, maxLength: 3 })]),
    role: Type.Union([Type.Literal("a"), Type.Literal("b")]),
    list: Type.Array(Type.Object({ n: Type.Integer({ minimum: 1 }), x: Type.Number({ minimum: 0 }) }, closed), {
      maxItems: 2,
    }),
    on: Type.Boolean(),
    share: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 1 })),
  },
  closed,
);

it("judges values as the schema library does", () => {
  const any = fc.constantFrom<unknown>(
    null,
    undefined,
    "",
    "a",
    "b",
    "ab",
    "abcde",
    0,
    1,
    1.5,
    -1,
    Number.NaN,
    true,
    [],
    {},
    [{ n: 1, x: 0 }],
    [{ n: 0, x: 0 }],
    [{ n: 1, x: 0, y: 1 }],
    [1, 2, 3],
  );
  const close = fc.record({
    id: fc.constantFrom<unknown>("ab", any),
    name: fc.constantFrom<unknown>(null, "abc", "abcd"),
    role: fc.constantFrom<unknown>("a", "b", "c"),
    list: fc.constantFrom<unknown>([], [{ n: 1, x: 0.5 }], [{ n: 1 }]),
    on: fc.constantFrom<unknown>(true, 1),
    share: fc.constantFrom<unknown>(undefined, 0.5, 1, 0, 2),
  });
  const wild = fc.record({ id: any, name: any, role: any, list: any, on: any, more: any }, { requiredKeys: [] });
  fc.assert(
    fc.property(fc.oneof(any, close, wild), (value) => {
      expect(schemaProblem(schema, value) === undefined).toBe(Value.Check(schema, value));
    }),
    { numRuns: 2_000 },
  );
});

it("says where and what", () => {
  const good = { id: "ab", name: null, role: "a", list: [{ n: 1, x: 0 }], on: true };
  expect(schemaProblem(schema, good)).toBeUndefined();
  expect(schemaProblem(schema, { ...good, list: [{ n: 0, x: 0 }] })).toBe(
    "list[0].n is 0, not a whole number of at least 1",
  );
  expect(schemaProblem(schema, { ...good, extra: 1 })).toBe('it has the unknown field "extra"');
  expect(schemaProblem(schema, { ...good, role: "c" })).toBe('role is "c", not one of its values');
});
