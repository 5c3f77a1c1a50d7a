// The rules of the agents of a task, and that no way of adding or changing one breaks them.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { TokenBudgetError } from "../../src/errors.ts";
import type { Category } from "../../src/task/category.ts";
import type { TaskContext } from "../../src/task/context.ts";
import {
  agentAt,
  type Registration,
  type Roster,
  type RosterAgent,
  rosterProblem,
  type TaskFacts,
  withCategory,
  withEnded,
  withLogged,
  withSession,
} from "../../src/task/roster.ts";
import { parseRoster, rosterFields } from "../../src/task/roster-file.ts";

const AT = "2025-01-02T03:04:05.678Z";
const CONTEXT: TaskContext = { version: 1, runId: "r", rootSessionId: "r", storageRoot: "/s" };
const TASK: TaskFacts = {
  rootSessionId: "r",
  notesOf: (address) => `/s/notes/${address.length}`,
  historyOf: (address) => `/s/history/${address.length}`,
};

function wanting(address: string, sessionId: string, rest: Partial<Registration> = {}): Registration {
  return {
    address,
    sessionId,
    sessionKey: `/x/${sessionId}.jsonl`,
    sessionFile: `/x/${sessionId}.jsonl`,
    named: true,
    parent: address === "/root" ? null : "/root",
    declared: undefined,
    created: "2025-01-02T03:04:05.678Z",
    state: { type: "running", pid: 1, processStart: null },
    ...rest,
  };
}

function rosterOf(...wanted: Registration[]): Roster {
  return wanted.reduce<Roster>((roster, each) => withSession(roster, each, TASK), []);
}

const ROOT = wanting("/root", "r");

function categoriesOf(roster: Roster): Record<string, Category> {
  return Object.fromEntries(roster.map(({ address, category }) => [address, category]));
}

describe("a session that registers", () => {
  test("gets an entry, and the same one again from wherever its file is then", () => {
    const roster = rosterOf(ROOT, wanting("/root/a", "s1", { declared: null }));
    expect(roster).toMatchObject([
      { address: "/root", parent: null, category: null, categoryOwn: true },
      { address: "/root/a", parent: "/root", category: null, categoryOwn: true, sessionId: "s1" },
    ]);
    const again = wanting("/root/auto", "s1", {
      named: false,
      sessionKey: "/y",
      sessionFile: "/y",
      declared: undefined,
    });
    const moved = withSession(roster, again, TASK);
    expect(moved).toHaveLength(2);
    expect(agentAt(moved, "/root/a")).toMatchObject({ sessionFile: "/y", category: null, categoryOwn: true });
    expect(withSession(moved, again, TASK)).toBe(moved);
  });

  test("cannot have the name of another, and is told whose it is", () => {
    const roster = rosterOf(ROOT, wanting("/root/a", "s1"));
    const taken = () => withSession(roster, wanting("/root/a", "s2"), TASK);
    expect(taken).toThrow(expect.objectContaining({ code: "name_collision" }));
    expect(taken).toThrow(
      /\/root\/a is held by another session of this root task, "s1"; a name stays with its session, also when that has ended\. \/root\/a_2 is free/,
    );
  });

  test("cannot be two agents", () => {
    const roster = rosterOf(ROOT, wanting("/root/a", "s1"));
    const second = () => withSession(roster, wanting("/root/b", "s1"), TASK);
    expect(second).toThrow(/is the agent \/root\/a of this root task already and cannot be \/root\/b/);
  });

  test("needs its parent, but a root may register later", () => {
    const orphan = () => rosterOf(ROOT, wanting("/root/a/b", "s1", { parent: "/root/a" }));
    expect(orphan).toThrow(expect.objectContaining({ code: "unknown_agent" }));
    expect(orphan).toThrow(/parentAgentName is "\/root\/a"/);
    const early = rosterOf(wanting("/root/a", "s1"));
    expect(early.map(({ address }) => address)).toEqual(["/root", "/root/a"]);
    const late = withSession(early, ROOT, TASK);
    expect(agentAt(late, "/root")).toMatchObject({ sessionFile: "/x/r.jsonl", state: { type: "running" } });
    expect(late).toHaveLength(2);
  });

  test("may be called like things JavaScript has already", () => {
    const names = ["__proto__", "constructor", "tostring", "hasownproperty"];
    const roster = rosterOf(ROOT, ...names.map((name) => wanting(`/root/${name}`, name)));
    const written = JSON.parse(JSON.stringify(rosterFields(roster, CONTEXT)));
    expect(parseRoster(written, CONTEXT)).toEqual({ type: "value", value: roster });
  });

  test("has ended when its process says so, and not another's", () => {
    const roster = rosterOf(ROOT, wanting("/root/a", "s1"));
    expect(withEnded(roster, "/root/a", 2)).toBe(roster);
    expect(withEnded(roster, "/root/nobody", 1)).toBe(roster);
    expect(agentAt(withEnded(roster, "/root/a", 1), "/root/a")?.state).toEqual({ type: "ended" });
  });
});

describe("categories", () => {
  const DYED = rosterOf(
    { ...ROOT, declared: "s" },
    wanting("/root/inherits", "s1"),
    wanting("/root/ordinary", "s2", { declared: null }),
    wanting("/root/same", "s3", { declared: "s" }),
    wanting("/root/ordinary/below", "s4", { parent: "/root/ordinary" }),
  );

  test("of children are their parent's, or none when that is declared", () => {
    expect(categoriesOf(DYED)).toEqual({
      "/root": "s",
      "/root/inherits": "s",
      "/root/ordinary": null,
      "/root/same": "s",
      "/root/ordinary/below": null,
    });
    expect(() => withSession(DYED, wanting("/root/x", "s9", { declared: "t" }), TASK)).toThrow(/not this agent's/);
    const below = wanting("/root/ordinary/x", "s9", { parent: "/root/ordinary", declared: "s" });
    expect(() => withSession(DYED, below, TASK)).toThrow(/This agent is ordinary/);
  });

  test("changed by hand move everything below, ordinary tasks included", () => {
    expect(new Set(Object.values(categoriesOf(withCategory(DYED, "/root", "t", AT))))).toEqual(new Set(["t"]));
    expect(new Set(Object.values(categoriesOf(withCategory(DYED, "/root", null, AT))))).toEqual(new Set([null]));
    expect(categoriesOf(withCategory(DYED, "/root/ordinary", "s", AT))["/root/ordinary/below"]).toBe("s");
    expect(categoriesOf(withCategory(DYED, "/root/inherits", null, AT))["/root/inherits"]).toBe(null);
    const elsewhere = () => withCategory(DYED, "/root/inherits", "t", AT);
    expect(elsewhere).toThrow(/\/root\/inherits was not changed: .*another category than its parent \/root\./);
    expect(() => withCategory(DYED, "/root/nobody", null, AT)).toThrow(
      expect.objectContaining({ code: "unknown_agent" }),
    );
  });
});

test("a log of a category brings its agent up to it, and below it what has its parent's category", () => {
  const tampered = rosterOf(
    ROOT,
    wanting("/root/inherits", "s1"),
    wanting("/root/ordinary", "s2", { declared: null }),
    wanting("/root/ordinary/below", "s3", { parent: "/root/ordinary" }),
    wanting("/root/inherits/below", "s4", { parent: "/root/inherits" }),
  );
  const raised = withLogged(tampered, "/root", "s");
  expect(categoriesOf(raised)).toEqual({
    "/root": "s",
    "/root/inherits": "s",
    "/root/ordinary": null,
    "/root/ordinary/below": null,
    "/root/inherits/below": "s",
  });
  expect(rosterProblem(raised)).toBeUndefined();
  expect(() => withLogged(raised, "/root/ordinary", "t")).toThrow(/another category than its parent/);
});

const NAMES = ["/root", "/root/a", "/root/b", "/root/a/c", "/root/a/c/d"] as const;

test("nothing that registers or changes agents ever breaks a rule, and files give back what was written", () => {
  const registration = fc.record({
    address: fc.constantFrom(...NAMES),
    sessionId: fc.constantFrom("r", "s1", "s2", "s3"),
    parent: fc.constantFrom(null, ...NAMES),
    declared: fc.constantFrom<Category | undefined>(undefined, null, "s", "t"),
    named: fc.boolean(),
  });
  const dye = fc.record({ address: fc.constantFrom(...NAMES), category: fc.constantFrom<Category>(null, "s", "t") });
  fc.assert(
    fc.property(fc.array(fc.oneof(registration, dye), { maxLength: 12 }), (steps) => {
      let roster: Roster = [];
      for (const step of steps) {
        try {
          const next =
            "sessionId" in step
              ? withSession(roster, wanting(step.address, step.sessionId, step), TASK)
              : withCategory(roster, step.address, step.category, AT);
          // A request that contradicts itself is for the registry's last look to refuse.
          if (rosterProblem(next) === undefined) roster = next;
          else expect("sessionId" in step).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(TokenBudgetError);
        }
      }
      const written = JSON.parse(JSON.stringify(rosterFields(roster, CONTEXT)));
      expect(parseRoster(written, CONTEXT)).toEqual({ type: "value", value: roster });
    }),
  );
});

describe("a registry's fields", () => {
  const roster = rosterOf(ROOT, wanting("/root/a", "s1"), wanting("/root/b", "s2"));
  const written = () => structuredClone(rosterFields(roster, CONTEXT)) as { agents: Record<string, unknown>[] };

  test.each<[string, unknown, RegExp]>([
    ["address", "/root/A", /agents\[1\]\.address is "\/root\/A", not an agent address/],
    ["parent", 1, /agents\[1\]\.parent/],
    ["sessionId", "", /not a session id/],
    ["sessionKey", null, /sessionKey is null/],
    ["sessionFile", "relative", /not an absolute path or null/],
    ["notesRoot", "../elsewhere", /not a path below the storage/],
    ["notesRoot", "/etc", /not a path below the storage/],
    ["historyDir", "a/../../b", /historyDir/],
    ["category", "S", /category is "S", not a category label or null/],
    ["categoryOwn", "yes", /not true or false/],
    ["decided", "yesterday", /decided is "yesterday", not a time/],
    ["created", "yesterday", /not a time/],
    ["state", { type: "running", pid: -1, processStart: null }, /agents\[1\]\.state/],
    ["state", { type: "asleep" }, /agents\[1\]\.state/],
    ["more", 1, /unknown field "more"/],
  ])("with a wrong %s (%j) are damaged, by name", (field, value, problem) => {
    const fields = written();
    fields.agents[1] = { ...fields.agents[1], [field]: value };
    expect(parseRoster(fields, CONTEXT)).toEqual({ type: "damaged", problem: expect.stringMatching(problem) });
  });

  test("of another task are named so", () => {
    const other = { ...CONTEXT, runId: "other" };
    expect(parseRoster(written(), other)).toMatchObject({ problem: expect.stringMatching(/another root task/) });
    expect(parseRoster({ ...written(), agents: {} }, CONTEXT)).toMatchObject({ problem: "agents is {}, not a list" });
    expect(parseRoster({ ...written(), agents: [1] }, CONTEXT)).toMatchObject({
      problem: "agents[0] is 1, not an object",
    });
  });

  test.each<[string, Partial<RosterAgent>, RegExp]>([
    ["a name twice", { address: "/root/b" }, /\/root\/b is in it twice/],
    ["one session twice", { sessionId: "s2" }, /\/root\/a and \/root\/b are one session/],
    ["a parent that is missing", { parent: "/root/x" }, /which is not in it/],
    ["a parent beside it", { parent: "/root/b" }, /\/root\/a is not below its parent \/root\/b/],
    ["itself as parent", { parent: "/root/a" }, /is not below its parent/],
    ["no parent", { parent: null }, /has the parent null/],
    ["an inherited category its parent has not", { category: "s", categoryOwn: false }, /\/root\/a .*parent \/root$/],
  ])("with %s are refused with both names", (_name, change, problem) => {
    const fields = written();
    fields.agents[1] = { ...fields.agents[1], ...change };
    const parsed = parseRoster(fields, CONTEXT);
    expect(parsed.type === "value" && rosterProblem(parsed.value)).toMatch(problem);
  });
});
