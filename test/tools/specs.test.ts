import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { defineTool, type HostTool } from "../../src/tools/define.ts";
import { TOOL_NAMES, TOOL_SPECS, type ToolName } from "../../src/tools/specs.ts";

type Facts = Readonly<Record<string, unknown>>;

interface FrozenTool {
  /** Null for a tool that the reference does not have. */
  readonly reference: string | null;
  readonly name: string;
  readonly executionMode: string;
  readonly description: string;
  readonly params: Readonly<Record<string, Facts>>;
}

interface Adaptation {
  readonly tool: string;
  readonly param: string;
  /** A fact of the reference that the runtime definition does not have. */
  readonly drops?: string;
  /** A parameter that the reference does not have. */
  readonly adds?: Facts;
  readonly why: string;
}

interface Fixture {
  readonly adaptations: readonly Adaptation[];
  readonly tools: readonly FrozenTool[];
}

const fixture: Fixture = JSON.parse(readFileSync(new URL("../../fixtures/codex-tools.json", import.meta.url), "utf8"));

function definitionOf(name: ToolName): HostTool {
  return defineTool(name, () => ({ text: "", details: {} }));
}

/** The schema as a host reads it. */
function schemaOf(name: ToolName) {
  return JSON.parse(JSON.stringify(definitionOf(name).parameters)) as {
    readonly type: string;
    readonly properties: Readonly<Record<string, Facts>>;
    readonly required?: readonly string[];
    readonly additionalProperties: boolean;
  };
}

/** A parameter's schema as facts; throws on a form no host has been tried with. */
function factsOf(schema: Facts, required: boolean): Facts {
  if (!("anyOf" in schema)) return { nullable: false, required, ...schema };
  const { anyOf, ...beside } = schema;
  const [first, plain, ...others] = anyOf as readonly Facts[];
  // Null first, and nothing beside the two.
  expect(first).toEqual({ type: "null" });
  expect(others).toEqual([]);
  expect(beside).toEqual({});
  return { nullable: true, required, ...plain };
}

function runtimeParams(name: ToolName): Readonly<Record<string, Facts>> {
  const { properties, required = [] } = schemaOf(name);
  return Object.fromEntries(
    Object.entries(properties).map(([param, schema]) => [param, factsOf(schema, required.includes(param))]),
  );
}

/** What the runtime must be: the frozen facts with the declared adaptations, and no others. */
function expectedParams(tool: FrozenTool): Readonly<Record<string, Facts>> {
  const params: Record<string, Facts> = { ...tool.params };
  for (const { param, drops, adds } of fixture.adaptations.filter((each) => each.tool === tool.name)) {
    if (adds) params[param] = adds;
    if (drops === undefined) continue;
    const { [drops]: dropped, ...rest } = params[param] ?? {};
    expect(dropped, `${tool.name}.${param} has a fact "${drops}" to drop`).toBeDefined();
    params[param] = rest;
  }
  return params;
}

describe("runtime definitions are the frozen ones", () => {
  test("there are the same tools, by the same names", () => {
    expect([...TOOL_NAMES].sort()).toEqual(fixture.tools.map(({ name }) => name).sort());
  });

  test.each(fixture.tools.map((tool) => [tool.name as ToolName, tool] as const))("%s", (name, frozen) => {
    const definition = definitionOf(name);
    expect(runtimeParams(name)).toEqual(expectedParams(frozen));
    expect(schemaOf(name)).toMatchObject({ type: "object", additionalProperties: false });
    expect(definition.executionMode).toBe(frozen.executionMode);
    expect(definition.description).toBe(frozen.description);
    expect(TOOL_SPECS[name].reference).toBe(frozen.reference);
  });

  test("the declared adaptations are the dropped encryption and the pages of notes_read_file", () => {
    expect(fixture.adaptations.map(({ tool, param, drops }) => `${tool}.${param} ${drops ?? "added"}`).sort()).toEqual([
      "history_search_contents.query encrypted",
      "notes_append_to_file.text encrypted",
      "notes_read_file.limit_chars added",
      "notes_read_file.offset_chars added",
      "notes_search_contents.query encrypted",
      "notes_write_file.text encrypted",
    ]);
  });
});
