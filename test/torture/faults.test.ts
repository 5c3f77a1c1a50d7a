// Every call of every act fails, with every error, before it is done, after it, and half done; alone, and two in a row. The
// caller is told, what was there stands, the next call works, and nothing is left over.
import { mkdtempSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { TokenBudgetError } from "../../src/errors.ts";
import { figure, rounds, seed } from "../rounds.ts";
import { errnoError } from "../storage/disks.ts";
import { type TappedCall, tapped } from "./disk-tap.ts";
import { type Act, leftOversIn, SUBJECTS, type Subject, unnamedFilesIn } from "./subjects.ts";

const CODES = ["ENOSPC", "EIO", "EACCES", "EMFILE", "EROFS"] as const;
const MOMENTS = ["before", "after", "half"] as const;
/** Codes tried at each call, in turn. */
const CODES_EACH = rounds(1, 2, CODES.length);
const CALLS_STEP = rounds(9, 1);
const SEED = seed(1);
const TEST_MS = 600_000;
const TOLD = /^(storage_failed|lock_unavailable|lock_lost)$/;

interface Fault {
  readonly code: string;
  readonly moment: (typeof MOMENTS)[number];
  /** So many calls in a row. */
  readonly times: number;
}

/** What a call does that fails. */
function failing({ name, args, run }: TappedCall, { code, moment }: Fault): never {
  if (moment === "after") run();
  if (moment === "half" && name === "writeSync") half(args, run);
  throw errnoError(code, name);
}

/** Half of what was to be written is written. */
function half(args: readonly unknown[], run: () => unknown): void {
  const [, bytes, offset, length] = args;
  if (!Buffer.isBuffer(bytes)) return;
  const whole = typeof length === "number" ? length : bytes.length;
  const start = typeof offset === "number" ? offset : 0;
  // The second half is as if it had never been written.
  const kept = Buffer.from(bytes);
  bytes.fill(0, start + Math.floor(whole / 2), start + whole);
  (args as unknown[])[3] = Math.floor(whole / 2);
  try {
    run();
  } finally {
    kept.copy(bytes);
  }
}

async function inFolder<T>(work: (base: string) => Promise<T>): Promise<T> {
  const base = mkdtempSync(join(tmpdir(), "token-budget-"));
  try {
    return await work(base);
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
}

/** What is seen, wherever it lies. */
async function seenIn(subject: Subject, base: string): Promise<unknown> {
  return JSON.parse(JSON.stringify(await subject.see(base)).replaceAll(base, "BASE"));
}

/** Nothing fails. */
interface CleanRun {
  /** What is seen before the first act, and after each. */
  readonly seen: readonly unknown[];
  /** The names of the calls that each act makes. */
  readonly calls: readonly (readonly string[])[];
}

function cleanRun(subject: Subject): Promise<CleanRun> {
  return inFolder(async (base) => {
    await subject.prepare?.(base);
    const seen = [await seenIn(subject, base)];
    const calls: string[][] = [];
    for (const act of subject.acts(base)) {
      const made: string[] = [];
      const judge = (call: TappedCall) => {
        made.push(call.name);
        return call.run();
      };
      await tapped(base, judge, async () => void (await act.run()));
      calls.push(made);
      seen.push(await seenIn(subject, base));
    }
    return { seen, calls };
  });
}

/** Carries out an act of which the call with this number fails, and tells which that was. */
async function failAt(base: string, act: Act, number: number, fault: Fault) {
  let count = 0;
  let failed: string | undefined;
  let error: unknown;
  const judge = (call: TappedCall) => {
    const at = count++;
    if (at < number || at >= number + fault.times) return call.run();
    if (fault.moment === "half" && call.name !== "writeSync") return call.run();
    failed ??= `${call.name} ${call.path.slice(base.length)}`;
    return failing(call, fault);
  };
  await tapped(base, judge, async () => {
    try {
      await act.run();
    } catch (thrown) {
      error = thrown;
    }
  });
  return { failed, error };
}

function age(base: string): void {
  for (const path of leftOversIn(base)) utimesSync(join(base, path), 1, 1);
}

/** Which call of which act fails. */
interface Trial {
  readonly subject: Subject;
  readonly seen: readonly unknown[];
  readonly at: number;
  readonly number: number;
}

/** False when the act made no call with this number this time. */
async function tryFault({ subject, seen, at, number }: Trial, fault: Fault): Promise<boolean> {
  return inFolder(async (base) => {
    await subject.prepare?.(base);
    const acts = subject.acts(base);
    for (const act of acts.slice(0, at)) await act.run();
    const act = acts[at] as Act;
    const { failed, error } = await failAt(base, act, number, fault);
    if (failed === undefined) return false;
    const where = `${act.name}: call ${number}, ${failed}, ${fault.code} ${fault.moment} ×${fault.times}`;
    const [before, after] = [seen[at], seen[at + 1]];
    const now = await seenIn(subject, base);
    if (error === undefined) expect(now, where).toEqual(after);
    else {
      expect(error, where).toBeInstanceOf(TokenBudgetError);
      expect(error, where).toMatchObject({ code: expect.stringMatching(TOLD) });
      expect(String(error), where).toMatch(new RegExp(`${fault.code}|lock`));
      const isDone = JSON.stringify(now) !== JSON.stringify(before);
      if (isDone && !subject.inSteps) {
        expect(now, where).toEqual(after);
        if (!subject.keepsFailed) expect(String(error), where).toMatch(/was written/);
      }
    }
    // What cannot be cleaned up either is swept at the next start.
    if (fault.times === 1 && fault.moment !== "after") expect(leftOversIn(base), where).toEqual([]);
    if (error !== undefined) {
      await act.run();
      if (!subject.keepsFailed) expect(await seenIn(subject, base), where).toEqual(after);
    }
    const next = acts[at + 1];
    if (next && !subject.keepsFailed) {
      await next.run();
      expect(await seenIn(subject, base), where).toEqual(seen[at + 2]);
    }
    age(base);
    await subject.start(base);
    expect(leftOversIn(base), where).toEqual([]);
    if (fault.times === 1) expect(unnamedFilesIn(base), where).toEqual([]);
    return true;
  });
}

/** What is tried at the calls of an act: of all of them, or of one in some, beginning with another one for each seed. */
function* faultsOf(calls: readonly string[], times: number) {
  for (let number = SEED % CALLS_STEP; number < calls.length; number += CALLS_STEP)
    for (const [n, moment] of MOMENTS.entries())
      for (let each = 0; each < CODES_EACH; each++) {
        const code = CODES[(SEED + number + n + each) % CODES.length] as string;
        if (moment !== "half" || calls[number] === "writeSync") yield { number, fault: { code, moment, times } };
      }
}

describe.each(SUBJECTS.map((subject) => [subject.name, subject] as const))("%s", (_name, subject) => {
  for (const times of [1, 2])
    test(`with ${times === 1 ? "any call" : "any two calls in a row"} failing`, { timeout: TEST_MS }, async () => {
      const { seen, calls } = await cleanRun(subject);
      let tried = 0;
      for (const [at, made] of calls.entries())
        for (const { number, fault } of faultsOf(made, times))
          if (await tryFault({ subject, seen, at, number }, fault)) tried++;
      figure("faults", tried);
      expect(tried).toBeGreaterThan(calls.flat().length / CALLS_STEP);
    });
});
