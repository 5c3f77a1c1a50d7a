// Where the entries of a journal are by the word of their id: an open hash table in one typed array. It knows nothing of
// what the numbers mean.
//
// Kept for the rows "another agent, newest 50 of a journal of 100k entries" and "session_start to the first request": it is
// made for 100,000 entries in a millisecond or two, where a Map takes tens and holds the event loop up.

const SLOTS_MIN = 64;

export class JournalIds {
  /** Numbers plus one; 0 is a free slot. */
  #slots: Int32Array;
  readonly #wordOf: (at: number) => number;
  #used = 0;

  /** `wordOf` tells the word that a number was added under. */
  constructor(expected: number, wordOf: (at: number) => number) {
    let slots = SLOTS_MIN;
    while (slots < expected * 2) slots *= 2;
    this.#slots = new Int32Array(slots);
    this.#wordOf = wordOf;
  }

  add(word: number, at: number): void {
    if ((this.#used + 1) * 2 > this.#slots.length) this.#grow();
    let slot = this.#home(word);
    while (this.#slots[slot] !== 0) slot = (slot + 1) & (this.#slots.length - 1);
    this.#slots[slot] = at + 1;
    this.#used++;
  }

  /** The first number added under this word that is the one looked for, among others perhaps; -1 when none is. */
  find(word: number, isIt: (at: number) => boolean): number {
    for (let slot = this.#home(word); this.#slots[slot] !== 0; slot = (slot + 1) & (this.#slots.length - 1)) {
      const at = (this.#slots[slot] as number) - 1;
      if (isIt(at)) return at;
    }
    return -1;
  }

  #home(word: number): number {
    const mixed = Math.imul(word, 0x9e3779b1);
    return (mixed ^ (mixed >>> 15)) & (this.#slots.length - 1);
  }

  #grow(): void {
    const { length } = this.#slots;
    const slots = this.#slots;
    this.#slots = new Int32Array(length * 2);
    this.#used = 0;
    for (let slot = 0; slot < length; slot++) {
      const at = slots[slot] as number;
      if (at !== 0) this.add(this.#wordOf(at - 1), at - 1);
    }
  }
}
