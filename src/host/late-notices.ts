// Notices on a screen whose chat is about to be redrawn. Hosts redraw it after the events of a session's start and of a
// compaction's end: a notice shown before that ends up far above the new chat, or is gone. So notices wait for the redraw.
// Without a terminal interface nothing waits.
import type { HostContext } from "./api.ts";

/** The host has redrawn this long after its event. */
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

  /** The chat will be redrawn. */
  hold(): void {
    clearTimeout(this.#drawn);
    this.#drawn = undefined;
    this.#isHeld = this.#isScreenDrawn();
  }

  /** It is redrawn at once, or not at all. */
  release(): void {
    if (!this.#isHeld || this.#drawn !== undefined) return;
    this.#drawn = setTimeout(() => this.#sayAll(), DRAWN_AFTER_MS);
    this.#drawn.unref();
  }

  show(ctx: HostContext, message: string, type: NoticeType): void {
    if (this.#isHeld) this.#waiting.push(() => this.#say(ctx, message, type));
    else this.#say(ctx, message, type);
  }

  /** Shows it after what the host itself shows now. */
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
