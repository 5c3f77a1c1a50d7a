// The plan that an editor is sent, against the schema that the protocol's own SDK exports.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { todosToPlan } from "../../api.ts";
import { TODO_STATUSES } from "../../src/todo/list.ts";
import { item } from "./items.ts";

const path = createRequire(import.meta.url).resolve("@agentclientprotocol/sdk/schema/v1/schema.json");
const { $defs } = JSON.parse(readFileSync(path, "utf8")) as { $defs: Record<string, unknown> };
// The schema says with keywords of its own how a reader may be lenient.
const isPlanUpdate = new Ajv2020({ strict: false, logger: false }).compile({ $ref: "#/$defs/SessionUpdate", $defs });
const update = (entries: unknown) => ({ sessionUpdate: "plan", entries });

describe("a plan", () => {
  it("has one entry per item, in order, with a priority of its own", () => {
    const todos = TODO_STATUSES.map((status) => item(`to be ${status}`, status));
    expect(todosToPlan(todos)).toEqual(todos.map((todo) => ({ ...todo, priority: "medium" })));
    expect(isPlanUpdate(update(todosToPlan(todos))), JSON.stringify(isPlanUpdate.errors)).toBe(true);
  });

  it("of an empty list is empty, which clears what the editor shows", () => {
    expect(isPlanUpdate(update(todosToPlan([])))).toBe(true);
  });

  it("is what makes a list fit: without a priority it does not", () => {
    expect(isPlanUpdate(update([item("a")]))).toBe(false);
    expect(isPlanUpdate(update([{ ...item("a"), priority: "urgent" }]))).toBe(false);
  });
});
