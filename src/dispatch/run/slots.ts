// A limit on concurrent work: further work waits in order, and may leave the queue.

export class Slots {
  readonly #max: () => number;
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  constructor(max: () => number) {
    this.#max = max;
  }

  get isFull(): boolean {
    return this.#taken >= this.#max();
  }

  /** Runs `work` when a slot is free; rejects with the signal's reason when that aborts first. */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#enter(signal);
    try {
      return await work();
    } finally {
      this.#taken--;
      this.#next();
    }
  }

  #enter(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = () => {
        signal.removeEventListener("abort", leave);
        this.#taken++;
        resolve();
      };
      const leave = () => {
        const at = this.#waiting.indexOf(enter);
        if (at >= 0) this.#waiting.splice(at, 1);
        reject(signal.reason);
      };
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.push(enter);
      this.#next();
    });
  }

  #next(): void {
    while (!this.isFull) {
      const enter = this.#waiting.shift();
      if (enter === undefined) return;
      enter();
    }
  }
}
