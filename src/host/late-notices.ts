// Notices at a screen whose chat is about to be drawn anew. Hosts draw it when a session has started and when a compaction
// has ended, each behind the event that tells of it: what was said before stands far above what is drawn, or is gone. So it
// waits until that is done. Where no terminal interface draws, nothing waits.
import type { HostContext } from "./api.ts";

/** The host has drawn so long behind its event. */
const DRAWN_AFTER_MS = 300;

type NoticeType = "info" | "warning" | "error";
type Say = (ctx: HostContext, message: string, type: NoticeType) => void;

export class LateNotices {
  readonly #say: Say;
  readonly #isScreenDrawn: () => boolean;
  #waiting: (() => void)[] = [];
  #isHeld = false;
  #drawn: NodeJS.Timeout | undefined;

  constructor(say: Say, isScreenDrawn: () => boolean) {
    this.#say = say;
    this.#isScreenDrawn = isScreenDrawn;
  }

  /** The chat will be drawn anew. */
  hold(): void {
    clearTimeout(this.#drawn);
    this.#drawn = undefined;
    this.#isHeld = this.#isScreenDrawn();
  }

  /** It is drawn at once, or will not be. */
  release(): void {
    if (!this.#isHeld || this.#drawn !== undefined) return;
    this.#drawn = setTimeout(() => this.#sayAll(), DRAWN_AFTER_MS);
    this.#drawn.unref();
  }

  show(ctx: HostContext, message: string, type: NoticeType): void {
    if (this.#isHeld) this.#waiting.push(() => this.#say(ctx, message, type));
    else this.#say(ctx, message, type);
  }

  /** Says it behind what the host itself says now. */
  showAfter(ctx: HostContext, message: string, type: NoticeType): void {
    const wasHeld = this.#isHeld;
    if (!wasHeld) this.hold();
    this.show(ctx, message, type);
    if (!wasHeld) this.release();
  }

  #sayAll(): void {
    this.#isHeld = false;
    this.#drawn = undefined;
    for (const say of this.#waiting.splice(0)) say();
  }
}
