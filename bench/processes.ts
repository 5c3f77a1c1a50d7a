// Rows that need a process of their own, since they are about what is cold or about the end: opening, turns, quitting,
// loading. A child says its own figures; they are compared in turns like all others.
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { writeSessionFile } from "../fixtures/story/session-file.ts";
import { Registry } from "../src/task/registry.ts";
import type { OpeningFigures, OpeningTask } from "./children/opening.ts";
import type { Group, Made } from "./group.ts";
import { loadingRaces } from "./loading.ts";
import type { Race } from "./measure.ts";
import { notingRaces } from "./noting.ts";

const OPENING = fileURLToPath(new URL("./children/opening.ts", import.meta.url));
const TURNS = 6;
const LONG_TURNS = 30;
const SAMPLES = 3;
const AGENTS = 1_000;
const OUTPUT_MAX = 1 << 26;

function child(args: readonly string[]): string {
  return execFileSync(process.execPath, args, {
    encoding: "utf8",
    maxBuffer: OUTPUT_MAX,
    stdio: ["ignore", "pipe", "ignore"],
  });
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
}

/** What is left of such a session in the context: one that is a hundred thousand entries long has been compacted. */
function sessionOf(folder: string, entries: number): string {
  const file = join(folder, `s${entries}.jsonl`);
  writeSessionFile(file, { entries, windows: 1, seed: 3, compactedBefore: 40 });
  return file;
}

/** A copy of its own for each opening: none finds what another one left. */
function opened(folder: string, file: string, task: Omit<OpeningTask, "file">): OpeningFigures {
  const own = mkdtempSync(join(folder, "open-"));
  try {
    const copy = join(own, "session.jsonl");
    cpSync(file, copy);
    const lines = child(["--import", "tsx", OPENING, JSON.stringify({ ...task, file: copy })])
      .trim()
      .split("\n");
    return JSON.parse(lines.at(-1) ?? "") as OpeningFigures;
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}

function openingRaces(folder: string, entries: number): Race[] {
  const file = sessionOf(folder, entries);
  const shown = `${entries.toLocaleString("en-US")} entries`;
  const bare = (turns: number) => opened(folder, file, { bare: true, turns, journaled: false });
  const ours = (turns: number, journaled: boolean) => opened(folder, file, { bare: false, turns, journaled });
  const common = { isFigure: true, samplesMin: SAMPLES } as const;
  return [
    ...[false, true].map(
      (journaled): Race => ({
        ...common,
        name: `opening, session start to the first request, ${shown}, ${journaled ? "journaled before" : "never journaled"}`,
        against: "the host without the package",
        goal: 1.3,
        allowanceMs: 50,
        ours: () => ours(0, journaled).first_request_ms,
        reference: () => bare(0).first_request_ms,
      }),
    ),
    {
      ...common,
      name: `opening, longest hold of the event loop, ${shown}`,
      against: "the host without the package",
      goal: 1,
      allowanceMs: 50,
      ours: () => ours(0, true).longest_gap_ms,
      reference: () => bare(0).longest_gap_ms,
    },
    {
      ...common,
      name: `turn, processor time, ${shown}`,
      against: "the host without the package",
      goal: 1,
      allowanceMs: 3,
      ours: () => median(ours(TURNS, true).turns_ms),
      reference: () => median(bare(TURNS).turns_ms),
    },
    {
      ...common,
      name: `quitting while the first journal is written, ${shown}`,
      against: "the host without the package",
      goal: 1,
      allowanceMs: 1_000,
      ours: () => ours(0, false).quit_ms,
      reference: () => bare(0).quit_ms,
    },
  ];
}

/** What one request asks of the registry. */
async function registryRaces(folder: string): Promise<Race[]> {
  const file = sessionOf(folder, AGENTS);
  const turnWith = (agents: number) =>
    median(opened(folder, file, { bare: false, turns: LONG_TURNS, journaled: false, agents }).turns_ms);
  const [large, small] = await Promise.all(
    [AGENTS, 1].map(async (agents) => {
      const storageRoot = join(folder, `task-${agents}`);
      const registry = new Registry({
        context: { version: 1, runId: "bench", rootSessionId: "a0", storageRoot } as const,
      });
      await registry.update(() =>
        Array.from({ length: agents }, (_, at) => {
          const address = at === 0 ? "/root" : `/root/a${at}`;
          return {
            ...{
              address,
              parent: at === 0 ? null : "/root",
              sessionId: `a${at}`,
              sessionKey: `a${at}`,
              sessionFile: null,
            },
            ...{ notesRoot: registry.notesOf(address), historyDir: registry.historyOf(address) },
            ...{
              category: null,
              categoryOwn: at === 0,
              created: new Date(0).toISOString(),
              state: { type: "ended" as const },
            },
          };
        }),
      );
      return registry;
    }),
  );
  if (!large || !small) throw new Error("two registries were made");
  return [
    {
      name: `registry, reading it unchanged, ${AGENTS.toLocaleString("en-US")} agents`,
      against: "the same, 1 agent",
      goal: 1.2,
      ours: () => large.read().length,
      reference: () => small.read().length,
      times: { ours: 50, reference: 50 },
    },
    {
      name: `turn, processor time, ${AGENTS.toLocaleString("en-US")} agents in an unchanged registry`,
      against: "the same, 1 agent",
      goal: 1.2,
      isFigure: true,
      samplesMin: SAMPLES,
      ours: () => turnWith(AGENTS),
      reference: () => turnWith(1),
    },
  ];
}

export function processGroups(sizes: readonly number[]): Group[] {
  const inFolder =
    (races: (folder: string) => readonly Race[] | Promise<readonly Race[]>) => async (): Promise<Made> => {
      const folder = mkdtempSync(join(tmpdir(), "pi-token-budget-bench-"));
      return { races: await races(folder), close: () => rmSync(folder, { recursive: true, force: true }) };
    };
  return [
    ...sizes.map((entries) => ({ topic: "opening", make: inFolder((folder) => openingRaces(folder, entries)) })),
    { topic: "loading", make: inFolder(loadingRaces) },
    { topic: "registry", make: inFolder(registryRaces) },
    { topic: "notes", make: inFolder(notingRaces) },
  ];
}
