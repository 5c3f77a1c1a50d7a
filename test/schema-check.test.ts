import { type TSchema, Type } from "@sinclair/typebox";
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

const good = { id: "ab", name: null, role: "a", list: [{ n: 1, x: 0 }], on: true };
const Running = Type.Object({ type: Type.Literal("running"), pid: Type.Integer({ minimum: 1 }) });
const states = Type.Object({ state: Type.Union([Type.Object({ type: Type.Literal("ended") }), Running]) });
const untyped = Type.Object({ n: Type.Null() });
const nullable = (each: TSchema) => Type.Union([Type.Null(), each]);

it.each<[TSchema, unknown, string | undefined]>([
  [schema, good, undefined],
  [schema, { ...good, list: [{ n: 0, x: 0 }] }, "list[0].n is 0, not a whole number of at least 1"],
  [schema, { ...good, list: [1, 2, 3] }, "list is a list of 3, not of at most 2"],
  [schema, { ...good, extra: 1 }, 'it has the unknown field "extra"'],
  [schema, { ...good, role: "c" }, 'role is "c", not "a" or "b"'],
  [schema, { ...good, name: "long" }, 'name is "long", not a text of 1 to 3 UTF-16 code units or null'],
  [schema, { ...good, name: {} }, "name is {}, not a text of 1 to 3 UTF-16 code units or null"],
  [schema, { ...good, share: 2 }, "share is 2, not a number above 0 and of at most 1"],
  [Type.Number(), "x", 'it is "x", not a number'],
  [Type.Number({ maximum: 1 }), 2, "it is 2, not a number of at most 1"],
  [Type.Integer({ minimum: 1, maximum: 3 }), 4, "it is 4, not a whole number from 1 to 3"],
  [Type.Number({ exclusiveMinimum: 0 }), 0, "it is 0, not a number above 0"],
  [Type.String(), 1, "it is 1, not a text"],
  [Type.String({ maxLength: 2 }), "abc", 'it is "abc", not a text of at most 2 UTF-16 code units'],
  [Type.Array(Type.Null(), { minItems: 1 }), [], "it is a list of 0, not of at least 1"],
  [Type.Array(Type.Null(), { minItems: 1, maxItems: 2 }), [], "it is a list of 0, not of 1 to 2"],
  [states, { state: { type: "stopped" } }, 'state.type is "stopped", not "ended" or "running"'],
  [states, { state: { type: "running", pid: 0 } }, "state.pid is 0, not a whole number of at least 1"],
  [states, { state: {} }, 'state.type is undefined, not "ended" or "running"'],
  [states, { state: 1 }, "state is 1, not an object"],
  [nullable(Running), { type: "running" }, "pid is undefined, not a whole number of at least 1"],
  [nullable(Running), [], "it is [], not an object or null"],
  [Type.Union([Type.Null(), untyped, untyped]), { n: 1 }, "n is 1, not null"],
  [Type.Union([untyped, untyped, Type.Null()]), 1, "it is 1, not an object or null"],
  [nullable(Type.Array(Type.Null())), [1], "[0] is 1, not null"],
  [nullable(Type.Array(Type.Null())), {}, "it is {}, not a list or null"],
])("says where and what, by the bounds that there are: %#", (rules, value, problem) => {
  expect(schemaProblem(rules, value)).toBe(problem);
});
