// How often a test repeats what it leaves to luck: random sequences, processes killed at any moment; and how large its input
// is where that is what costs. `npm test` has to end soon and makes few rounds; PI_TEST_ROUNDS=full makes all of them, and
// `npm run torture` (torture/run.mjs) as many as the goals say, from a seed that it prints.
import { appendFileSync } from "node:fs";

/** So many rounds: a few CPU seconds' worth as usual, all of them on demand, and as many as the goal of its row says. */
export function rounds(usual: number, full: number, torture = full): number {
  const wanted = process.env.PI_TEST_ROUNDS;
  return wanted === "torture" ? torture : wanted === "full" ? full : usual;
}

/** The seed of this run: PI_TEST_SEED, or else one that is the same each time. */
export function seed(usual: number): number {
  const given = Number(process.env.PI_TEST_SEED);
  return Number.isSafeInteger(given) && given > 0 ? given : usual;
}

/** A figure for the table of `npm run torture`: how much of what was tried. */
export function figure(name: string, value: number): void {
  const file = process.env.PI_TORTURE_FIGURES;
  if (file) appendFileSync(file, `${JSON.stringify({ name, value })}\n`);
}
