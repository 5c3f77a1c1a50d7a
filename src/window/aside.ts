// Stepping aside: where windows would do harm they are off for the rest of this session, the person is told once why and
// what brings them back, and the host's own compaction takes over. Process state: the log says nothing of it, so a new
// session or a restart tries again. The code that finds the harm gives the reason; nothing here judges.

export interface AsideReason {
  /** In a few words, for the footer. */
  readonly short: string;
  /** What is wrong, as the end of a sentence, without its full stop. */
  readonly because: string;
  /** The sentence that says what to do about it and how windows come back. */
  readonly wayBack: string;
  /** The same where the doctor says what is wrong: below it, or above. */
  readonly wayBackInDoctor?: string;
  /** It is the model's: another one may have room. */
  readonly ofModel?: true;
}

export function asideText({ because, wayBack }: AsideReason): string {
  return `Windows are off in this session and Pi compacts by itself: ${because}. ${wayBack}`;
}

export class Aside {
  readonly #onStep: (reason: AsideReason) => void;
  #reason: AsideReason | undefined;

  /** `onStep` carries out what a first reason means: open requests are taken back, the person is told. */
  constructor(onStep: (reason: AsideReason) => void) {
    this.#onStep = onStep;
  }

  /** Why windows are off; undefined while they are kept. */
  get reason(): AsideReason | undefined {
    return this.#reason;
  }

  /** The first reason holds until it is lifted. */
  stepAside(reason: AsideReason): void {
    if (this.#reason) return;
    this.#reason = reason;
    this.#onStep(reason);
  }

  /** Windows stay off, for a reason that the person is told in another way. */
  stay(reason: AsideReason | undefined): void {
    this.#reason = reason;
  }

  /** What a person's `/token-budget on` does. */
  lift(): void {
    this.#reason = undefined;
  }

  /** Another model is in use: what was said of the old one does not count. */
  modelChanged(): void {
    if (this.#reason?.ofModel) this.lift();
  }
}
