// How often a test repeats what it leaves to luck: random sequences, processes killed at any moment; and how large its input
// is where that is what costs. `npm test` has to end soon and makes few rounds; PI_TEST_ROUNDS=full makes all of them.

/** So many rounds: a few CPU seconds' worth as usual, and all of them on demand. */
export function rounds(usual: number, full: number): number {
  return process.env.PI_TEST_ROUNDS === "full" ? full : usual;
}
