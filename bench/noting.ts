// Several processes that append to one note at once: what each append costs all of them together, against one process alone.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { NotingFigures, NotingTask } from "./children/noting.ts";
import { type Race, shared } from "./measure.ts";
import { program } from "./program.ts";

const NOTE = "shared.md";
const RUN_MS = 2_000;
const SAMPLES = 3;

interface Noted {
  readonly msPerLine: number;
  readonly longestMs: number;
}

async function noted(folder: string, processes: number): Promise<Noted> {
  const root = join(mkdtempSync(join(folder, "notes-")), "notes");
  const children = Array.from({ length: processes }, (_, number) => {
    const task: NotingTask = { root, path: NOTE, name: `p${number}`, runMs: RUN_MS };
    return fork(program("noting"), [JSON.stringify(task)]);
  });
  await Promise.all(children.map((child) => once(child, "message")));
  const ended = children.map(async (child) => (await once(child, "message"))[0] as NotingFigures);
  for (const child of children) child.send("start");
  const figures = await Promise.all(ended);
  const lines = figures.reduce((sum, each) => sum + each.lines, 0);
  const kept = readFileSync(join(root, NOTE), "utf8").split("\n").length - 1;
  if (kept !== lines) throw new Error(`${lines - kept} of ${lines} lines of ${processes} processes were lost`);
  rmSync(root, { recursive: true });
  return { msPerLine: RUN_MS / lines, longestMs: Math.max(...figures.map((each) => each.longest_ms)) };
}

export function notingRaces(folder: string): Race[] {
  const alone = shared(() => noted(folder, 1));
  return [
    { processes: 8, share: 0.85 },
    { processes: 32, share: 0.5 },
  ].flatMap(({ processes, share }): Race[] => {
    const together = shared(() => noted(folder, processes));
    const common = { isFigure: true, samplesMin: SAMPLES, against: "one process alone" } as const;
    return [
      {
        ...common,
        name: `notes, time for a line when ${processes} processes append to one note`,
        goal: 1 / share,
        ours: together(({ msPerLine }) => msPerLine),
        reference: alone(({ msPerLine }) => msPerLine),
      },
      {
        ...common,
        name: `notes, longest wait when ${processes} processes append to one note`,
        goal: 1,
        allowanceMs: 2_000,
        ours: together(({ longestMs }) => longestMs),
        reference: alone(({ longestMs }) => longestMs),
      },
    ];
  });
}
