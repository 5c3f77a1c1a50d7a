// Session files that no Pi would write: lines dropped, ids doubled, parents that loop or are missing, unknown types, half a
// line. What bare Pi opens and answers in, opens and answers with this package too. In a process of its own with a
// deadline, so that a hang is a failure and not the end of the suite.
import { type ChildProcess, fork } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { runPi } from "../../fixtures/pi/cli.ts";
import { makeEnvironment, scratchFolder } from "../../fixtures/pi/environment.ts";
import { currentHostName, hostNamed } from "../../fixtures/pi/hosts.ts";
import { rounds } from "../rounds.ts";
import type { Report } from "./children/open-sessions.ts";

/** One file takes a tenth of a second; a walk without an end takes for ever. */
const FILE_LIMIT_MS = 60_000;
const START_LIMIT_MS = 120_000;
const FUZZED_FILES = rounds(8, 24);

const CHILD = new URL("./children/open-sessions.ts", import.meta.url);
const AT = "2026-03-01T09:00:00.000Z";
const HEADER = { type: "session", version: 3, id: "01a2b3c4-0000-7000-8000-000000000000", timestamp: AT, cwd: "/" };

type Line = Readonly<Record<string, unknown>> | string;

const usage = { input: 9, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 10 };
const user = (id: unknown, parentId: unknown) => ({
  type: "message",
  id,
  parentId,
  timestamp: AT,
  message: { role: "user", content: `message ${String(id)}`, timestamp: 1 },
});
const assistant = (id: unknown, parentId: unknown) => ({
  type: "message",
  id,
  parentId,
  timestamp: AT,
  message: {
    role: "assistant",
    content: [{ type: "text", text: `answer ${String(id)}` }],
    api: "test",
    provider: "test",
    model: "m",
    usage,
    stopReason: "stop",
    timestamp: 2,
  },
});

/** As Pi wrote it: a conversation of two turns. */
const CONVERSATION = [user("a", null), assistant("b", "a"), user("c", "b"), assistant("d", "c")];

const fileText = (lines: readonly Line[], end = "\n") =>
  [HEADER, ...lines].map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n") + end;

interface Job {
  readonly group: string;
  readonly name: string;
  readonly content: string;
  readonly ids?: readonly string[];
}

/** What became of each file: the answer, or why there was none. A file that hangs ends its process. */
async function openAll(jobs: readonly { file: string; bare: boolean; ids: readonly string[] }[]) {
  const outcomes = new Map<string, Report | { readonly type: "hung" }>();
  const { node } = hostNamed(currentHostName());
  const child: ChildProcess = fork(CHILD, [JSON.stringify(jobs)], {
    execPath: node,
    // What runs without an end fills its memory: it is small here.
    execArgv: ["--import", "tsx", "--max-old-space-size=512"],
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  await new Promise<void>((resolve) => {
    const late = () => child.kill("SIGKILL");
    let timer = setTimeout(late, START_LIMIT_MS);
    let current: string | undefined;
    child.on("message", (report: Report) => {
      clearTimeout(timer);
      timer = setTimeout(late, FILE_LIMIT_MS);
      if (report.type === "opening") current = report.file;
      else if (report.type !== "done") outcomes.set(report.file, report);
    });
    child.on("exit", () => {
      clearTimeout(timer);
      if (current !== undefined && !outcomes.has(current)) outcomes.set(current, { type: "hung" });
      resolve();
    });
  });
  return outcomes;
}

interface Outcome {
  readonly group: string;
  readonly opened: boolean;
  readonly difference?: string;
}

/** Every file once in bare Pi and once with the package, each from a copy of its own: Pi appends to it. */
async function compare(jobs: readonly Job[]): Promise<readonly Outcome[]> {
  const folder = scratchFolder();
  const copies = jobs.map(({ content, ids = [], ...job }, number) => {
    const [bare, ours] = ["bare", "ours"].map((kind) => {
      const directory = join(folder, `${number}-${kind}`);
      mkdirSync(directory);
      writeFileSync(join(directory, "session.jsonl"), content);
      return join(directory, "session.jsonl");
    }) as [string, string];
    return { ...job, content, ids, bare, ours };
  });
  const outcomes = await openAll(
    copies.flatMap(({ bare, ours, ids }) => [
      { file: bare, bare: true, ids },
      { file: ours, bare: false, ids },
    ]),
  );
  return copies.map(({ group, name, content, bare, ours }) => {
    const without = outcomes.get(bare);
    const withUs = outcomes.get(ours);
    // What Pi itself does not open is its own matter, but it must not hang with us either.
    const isFine =
      without?.type === "opened"
        ? withUs?.type === "opened" && withUs.answer === without.answer
        : withUs?.type === "failed";
    const opened = without?.type === "opened";
    if (isFine) return { group, opened };
    return { group, opened, difference: `${name}: ${JSON.stringify({ without, withUs })}\n${content}` };
  });
}

/** All files in one process, which takes longer to start than they do. */
let outcomes: readonly Outcome[] = [];

function outcomeOf(group: string) {
  const own = outcomes.filter((outcome) => outcome.group === group);
  const differences = own.flatMap(({ difference }) => (difference === undefined ? [] : [difference]));
  return { files: own.length, opened: own.filter(({ opened }) => opened).length, differences };
}

const LAST_LINES: Readonly<Record<string, Line>> = {
  "has no id": {
    type: "message",
    parentId: "d",
    timestamp: AT,
    message: { role: "user", content: "odd", timestamp: 3 },
  },
  "is of another type and has no id": { type: "leaf", leafId: "b" },
  "has an id that is a number": { ...user(7, "d"), id: 7 },
  "has an empty id": user("", "d"),
  "names itself as its parent, and is no part of the branch": {
    type: "label",
    targetId: "a",
    label: "x",
    parentId: "d",
  },
  "is half a line": '{"type":"message","id":"e","parentId":"d","mess',
  "is a number": "17",
};

/** The rule by which every host finds its branch. */
function branchLoops(lines: readonly Line[]): boolean {
  const entries = lines.filter((line): line is Exclude<Line, string> => typeof line !== "string");
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const passed = new Set<unknown>();
  for (let at = entries.at(-1); at; at = at.parentId ? byId.get(at.parentId) : undefined) {
    if (passed.has(at)) return true;
    passed.add(at);
  }
  return false;
}

const IDS = ["a", "b", "c", "d", "e"];
const anyId = fc.constantFrom<unknown>(...IDS, ...IDS, "gone", null, undefined, 5);
const anyLine: fc.Arbitrary<Line> = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(anyId, anyId).map(([id, parent]) => user(id, parent)) },
  { weight: 4, arbitrary: fc.tuple(anyId, anyId).map(([id, parent]) => assistant(id, parent)) },
  fc.tuple(anyId, anyId).map(([id, parentId]) => ({ type: "leaf", id, parentId })),
  fc.tuple(anyId, anyId).map(([id, parentId]) => ({ type: "custom", id, parentId, timestamp: AT, customType: "x" })),
  fc.tuple(anyId, anyId).map(([id, parentId]) => ({ type: "compaction", id, parentId, timestamp: AT, summary: "s" })),
  fc.tuple(anyId, anyId).map(([id, parentId]) => ({ ...user(id, parentId), timestamp: undefined })),
  fc.constantFrom("", "[]", '"text"', "true", '{"type":"mess'),
);
const anyFile = fc
  .tuple(fc.subarray(CONVERSATION), fc.array(anyLine, { maxLength: 6 }), fc.constantFrom("", "\n", "\n\n", '\n{"ty'))
  .map(([kept, added, end]) => ({ lines: [...kept, ...added] as Line[], end }))
  // Bare Pi looks for the root of its own branch for ever: nobody opens that.
  .filter(({ lines }) => !branchLoops(lines));

const LOOPS = [
  [assistant("x", "y"), user("y", "x")],
  [user("x", "x")],
  [user("x", "y"), user("y", "z"), assistant("z", "x"), user("w", "z")],
];

function allJobs(): Job[] {
  const last = Object.entries(LAST_LINES).map(([name, line]) => ({
    group: "last lines",
    name,
    content: fileText([...CONVERSATION, line]),
    ids: ["a", "d"],
  }));
  const seed = 20260301;
  const fuzzed = fc.sample(anyFile, { numRuns: FUZZED_FILES, seed }).map(({ lines, end }, number) => ({
    group: "fuzzed",
    name: `file ${number}`,
    content: fileText(lines, end),
    ids: IDS,
  }));
  const loops = LOOPS.map((loop, number) => ({
    group: "loops",
    name: `loop ${number}`,
    content: fileText([...loop, ...CONVERSATION]),
    ids: ["x", "y", "z", "w", "a"],
  }));
  return [...last, ...fuzzed, ...loops];
}

beforeAll(async () => {
  outcomes = await compare(allJobs());
});

describe("the last line of a session file", () => {
  it("may be anything that bare Pi opens", () => {
    const { files, opened, differences } = outcomeOf("last lines");
    expect(differences).toEqual([]);
    expect(files).toBe(Object.keys(LAST_LINES).length);
    expect(opened).toBe(files);
  });

  it("without an id neither kills nor hangs `pi -p`, and the session goes on", async () => {
    const environment = makeEnvironment();
    const file = join(environment.directory, "odd.jsonl");
    writeFileSync(file, fileText([...CONVERSATION, { type: "leaf", leafId: "b" }]));
    const ran = await runPi({
      environment,
      model: ["well"],
      prompt: "Are you there?",
      args: ["--session", file],
      limitMs: FILE_LIMIT_MS,
    });
    expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: "well\n" });
    expect(ran.stderr).not.toContain("pi-token-budget");
    environment.remove();
  });
});

describe("a session file in which anything may stand", () => {
  it("opens where bare Pi opens it, with the same answer", () => {
    const { files, opened, differences } = outcomeOf("fuzzed");
    expect(differences).toEqual([]);
    expect(files).toBe(FUZZED_FILES);
    // Else it would say nothing.
    expect(opened).toBeGreaterThan(FUZZED_FILES / 2);
  });

  it("may hold branches whose parents loop, beside the one that is shown", () => {
    const { files, opened, differences } = outcomeOf("loops");
    expect(differences).toEqual([]);
    expect(files).toBe(LOOPS.length);
    expect(opened).toBe(files);
  });
});
