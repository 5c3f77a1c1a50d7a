// No way of working together lets content of a category out: random trees of agents, dispatches, reads, writes,
// decisions of people, and registry files that were changed by somebody else.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { TokenBudgetError } from "../../src/errors.ts";
import type { Category } from "../../src/task/category.ts";
import type { TaskContext } from "../../src/task/context.ts";
import { Registry } from "../../src/task/registry.ts";
import { type Roster, rosterProblem } from "../../src/task/roster.ts";
import { parseRoster, rosterFields } from "../../src/task/roster-file.ts";
import { temporaryDirectory } from "../storage/disks.ts";
import { BROKEN, type Edit, type RegistryFile, type Step, World } from "./world.ts";

const TREES = 10_000;
const TREES_ON_DISK = 40;

const agent = fc.nat({ max: 11 });
const category = fc.constantFrom<Category>(null, "s", "s", "t");
const edit: fc.Arbitrary<Edit> = fc.record(
  {
    at: agent,
    category: fc.constantFrom<Category>(null, null, "s", "t"),
    categoryOwn: fc.constantFrom(true, true, false),
    parent: agent,
    forgetDecision: fc.boolean(),
  },
  { requiredKeys: ["at"] },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom("dispatch" as const, "dispatch" as const, "start" as const),
      by: agent,
      declared: fc.constantFrom(undefined, null, "s", "t"),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom("work" as const, "work" as const, "send" as const), by: agent }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constantFrom("read" as const, "write" as const), by: agent, other: agent }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("decide" as const), by: agent, category }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("spoil" as const), edits: fc.array(edit, { minLength: 1, maxLength: 6 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("break" as const, "repair" as const) }) },
);
/** What the root starts with, and what happens then. */
const lives = fc.tuple(
  fc.constantFrom<Category>(null, "s", "s"),
  fc.array(step, { minLength: 1, maxLength: 20, size: "max" }),
);

const CONTEXT: TaskContext = { version: 1, runId: "r", rootSessionId: "r", storageRoot: "/s" };

/** The registry's own reading and writing, without a disk. */
function inMemory(): RegistryFile {
  let text = JSON.stringify(rosterFields([], CONTEXT));
  let known: { readonly text: string; readonly roster: Roster } | undefined;
  const read = () => {
    if (known?.text === text) return known.roster;
    const fields = text === BROKEN ? {} : (JSON.parse(text) as Record<string, unknown>);
    const parsed = parseRoster(fields, CONTEXT);
    const problem = parsed.type === "value" ? rosterProblem(parsed.value) : parsed.problem;
    if (parsed.type !== "value" || problem !== undefined) throw new TokenBudgetError("refused", problem ?? "");
    known = { text, roster: parsed.value };
    return parsed.value;
  };
  return {
    read,
    change: async (change) => {
      const after = change(read());
      const problem = rosterProblem(after);
      if (problem !== undefined) throw new TokenBudgetError("refused", problem);
      text = JSON.stringify(rosterFields(after, CONTEXT));
    },
    text: () => text,
    spoil: (spoiled) => {
      text = spoiled;
    },
  };
}

function onDisk(): RegistryFile {
  const registry = new Registry({
    context: { ...CONTEXT, storageRoot: join(temporaryDirectory(), "pi-token-budget") },
  });
  const { registry: file } = registry.layout;
  return {
    read: () => registry.read(),
    change: async (change) => void (await registry.update(change)),
    text: () => readFileSync(file, "utf8"),
    spoil: (text) => writeFileSync(file, text),
  };
}

async function live(file: RegistryFile, [root, steps]: readonly [Category, readonly Step[]]): Promise<World> {
  const world = new World(file);
  await world.begin(root);
  for (const each of steps) await world.run(each);
  return world;
}

test(`in ${TREES} random trees nobody gets content of a category that is not theirs`, async () => {
  const seen = { refused: 0, secrets: 0, spoiled: 0 };
  await fc.assert(
    fc.asyncProperty(lives, async (life) => {
      const world = await live(inMemory(), life);
      for (const name of ["refused", "secrets", "spoiled"] as const) seen[name] += world.seen[name];
    }),
    { numRuns: TREES },
  );
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(TREES / 4);
});

test(`nor with the real registry in ${TREES_ON_DISK} trees`, async () => {
  await fc.assert(
    fc.asyncProperty(lives, async (life) => void (await live(onDisk(), life))),
    { numRuns: TREES_ON_DISK },
  );
});
