// Rows that need a process of their own, since they are about what is cold or about the end: opening, turns, quitting,
// loading. A child says its own figures; they are compared in turns like all others.
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HOST_NAMES, type HostName, hostNamed, isInstalled } from "../fixtures/pi/hosts.ts";
import { installedDirectory } from "../fixtures/pi/installed.ts";
import { writeSessionFile } from "../fixtures/story/session-file.ts";
import { Registry } from "../src/task/registry.ts";
import type { OpeningFigures, OpeningTask } from "./children/opening.ts";
import type { Group, Made } from "./group.ts";
import { loadingRaces } from "./loading.ts";
import { type Race, shared } from "./measure.ts";
import { notingRaces } from "./noting.ts";
import { program } from "./program.ts";

/** A turn counts warm: a session works for many. A long session takes its time for each. */
const turnsOf = (entries: number) => (entries > LONG_ENTRIES ? 8 : 30);
const LONG_ENTRIES = 20_000;
const SHORTEST = 100;
const LONG_TURNS = 30;
const SAMPLES = 3;
/** A long session is opened once a side, and once more where a goal is missed. */
const samplesOf = (entries: number) => (entries > LONG_ENTRIES ? 1 : SAMPLES);
const AGENTS = 1_000;
const OUTPUT_MAX = 1 << 26;

function child(node: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): string {
  return execFileSync(node, args, {
    encoding: "utf8",
    maxBuffer: OUTPUT_MAX,
    env: { ...process.env, ...env },
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

/** Opens a session in a process of its own, with the Pi of that host. */
function opened(host: HostName, task: OpeningTask): OpeningFigures {
  const args = [program("opening"), JSON.stringify(task)];
  const lines = child(hostNamed(host).node, args, { PI_TEST_HOST: host }).trim().split("\n");
  return JSON.parse(lines.at(-1) ?? "") as OpeningFigures;
}

/** The same in a copy of the file: none finds what another one left. */
function openedAfresh(
  host: HostName,
  folder: string,
  file: string,
  task: Omit<OpeningTask, "file" | "home">,
): OpeningFigures {
  const own = mkdtempSync(join(folder, "open-"));
  try {
    const copy = join(own, "session.jsonl");
    cpSync(file, copy);
    return opened(host, { ...task, file: copy, home: join(own, "home") });
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}

/** Opens the same session again and again, in one home: its journal is there from the second time on. */
function openedAgain(host: HostName, folder: string, file: string, turns: number): () => OpeningFigures {
  let own: string | undefined;
  const task = () => ({
    file: join(own as string, "session.jsonl"),
    home: join(own as string, "home"),
    extension: installedDirectory(),
  });
  return () => {
    if (own === undefined) {
      own = mkdtempSync(join(folder, "again-"));
      cpSync(file, join(own, "session.jsonl"));
      opened(host, { ...task(), turns: 0 });
    }
    return opened(host, { ...task(), turns });
  };
}

function openingRaces(folder: string, file: string, host: HostName, entries: number): Race[] {
  const turns = turnsOf(entries);
  const shown = `Pi ${host}, ${entries.toLocaleString("en-US")} entries`;
  const bare = shared(() => openedAfresh(host, folder, file, { extension: null, turns }));
  const never = shared(() => openedAfresh(host, folder, file, { extension: installedDirectory(), turns: 0 }));
  const again = shared(openedAgain(host, folder, file, turns));
  const common = { isFigure: true, samplesMin: samplesOf(entries), against: "the host without the package" } as const;
  const turnMs = ({ turns_ms }: OpeningFigures) => median(turns_ms);
  return [
    {
      ...common,
      name: `opening, session start to the first request, never journaled, ${shown}`,
      goal: 1.3,
      allowanceMs: 50,
      ours: never((figures) => figures.first_request_ms),
      reference: bare((figures) => figures.first_request_ms),
    },
    {
      ...common,
      name: `opening, session start to the first request, journaled before, ${shown}`,
      goal: 1.3,
      allowanceMs: 50,
      ours: again((figures) => figures.first_request_ms),
      reference: bare((figures) => figures.first_request_ms),
    },
    {
      ...common,
      name: `opening, longest hold of the event loop, ${shown}`,
      goal: 1,
      allowanceMs: 50,
      ours: again((figures) => figures.longest_gap_ms),
      reference: bare((figures) => figures.longest_gap_ms),
    },
    {
      ...common,
      name: `turn, processor time, ${shown}`,
      goal: 1,
      allowanceMs: 3,
      ours: again(turnMs),
      reference: bare(turnMs),
    },
    {
      ...common,
      name: `turn, flushes to the disk, ${shown}`,
      against: "one",
      goal: 1,
      ours: again((figures) => figures.flushes_a_turn),
      reference: () => 1,
    },
    {
      ...common,
      name: `quitting while the first journal is written, ${shown}`,
      goal: 1,
      allowanceMs: 1_000,
      ours: never((figures) => figures.quit_ms),
      reference: bare((figures) => figures.quit_ms),
    },
  ];
}

/** What one request asks of the registry. */
async function registryRaces(folder: string): Promise<Race[]> {
  const file = sessionOf(folder, AGENTS);
  const turnWith = (agents: number) =>
    median(
      openedAfresh("0.73.1", folder, file, { extension: installedDirectory(), turns: LONG_TURNS, agents }).turns_ms,
    );
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
    ...[SHORTEST, ...sizes].map((entries) => ({
      topic: "opening",
      make: inFolder((folder) => {
        const file = sessionOf(folder, entries);
        return HOST_NAMES.filter(isInstalled).flatMap((host) => openingRaces(folder, file, host, entries));
      }),
    })),
    { topic: "loading", make: inFolder(loadingRaces) },
    { topic: "registry", make: inFolder(registryRaces) },
    { topic: "notes", make: inFolder(notingRaces) },
  ];
}
