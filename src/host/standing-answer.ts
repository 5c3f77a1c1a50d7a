// The answers that stand last on the screen. Hosts draw a notice over the one before it when nothing came between: what a
// person has asked for may go for the next answer, but not for a notice that comes unasked, and no such notice for another.
import type { HostContext } from "./api.ts";

/** Notices that stand together; the oldest go. */
const STANDING_MAX = 6;

type Say = (ctx: HostContext, message: string, type: "info") => void;

export class StandingAnswer {
  readonly #say: Say;
  readonly #isScreenDrawn: () => boolean;
  #standing: readonly string[] = [];

  constructor(say: Say, isScreenDrawn: () => boolean) {
    this.#say = say;
    this.#isScreenDrawn = isScreenDrawn;
  }

  /** Shows what a person has asked for. */
  show(ctx: HostContext, message: string): void {
    this.#standing = [message];
    this.#say(ctx, message, "info");
  }

  /** Shows what nobody asked for now, below what stands there; `insteadOf` is news no more. */
  tell(ctx: HostContext, message: string, insteadOf?: string): void {
    const before = this.#standing.filter((each) => each !== insteadOf);
    this.#standing = [...before, message].slice(-STANDING_MAX);
    // Anywhere else each notice is an event, or a line, of its own.
    this.#say(ctx, this.#isScreenDrawn() ? this.#standing.join("\n\n") : message, "info");
  }

  /** Something else stands last on the screen. */
  readonly passed = (): void => {
    this.#standing = [];
  };
}
