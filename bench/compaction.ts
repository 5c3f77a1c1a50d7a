// The same story worked twice in a real Pi: once with its own compaction, once with this package. Counts what a change
// of context costs the model, and what is still readable afterwards. No time is measured.
import { join } from "node:path";
import { type ExpectedItem, expectedItems } from "../fixtures/demo/expected.ts";
import { isSummarizerRequest } from "../fixtures/demo/figures.ts";
import { readEverythingBack } from "../fixtures/demo/read-back.ts";
import { enterEnvironment } from "../fixtures/pi/environment.ts";
import { type Block, type Request, requestTokens, type Script, text, textOf } from "../fixtures/pi/scripted-model.ts";
import { openPi, type PiSession } from "../fixtures/pi/session.ts";
import { type Deed, manners, windowOf } from "../fixtures/story/manners.ts";
import { type Listener, player } from "../fixtures/story/play.ts";
import { writeFiles } from "../fixtures/story/sample-project.ts";
import { makeStory } from "../fixtures/story/story.ts";
import { tokensIn } from "./tokens.ts";

const CONTEXT_WINDOW = 128_000;
const TOKENS_PER_IMAGE = 1_200;
/** Length of a scripted summary, in characters; a real one may be up to 0.8 of Pi's reserve, 13,107 tokens. */
export const SUMMARY_CHARS = 6_000;

export interface Side {
  /** Changes of context: windows opened, or compactions made. */
  readonly changes: number;
  readonly summary_calls: number;
  /** Requests that were made only for the changes: summaries, checkpoints, refused calls, reading notes and history. */
  readonly extra_calls: number;
  /** Of these requests, in tokens. */
  readonly extra_in: number;
  /** Of these, tokens that are no repetition of the request before: what no prefix cache can hold. */
  readonly extra_in_new: number;
  readonly extra_out: number;
  /** The first request behind a change, on average. */
  readonly first_request: number;
  readonly closed_items: number;
  /** Of the closed items, those that the model could still read byte for byte. */
  readonly readable_items: number;
  readonly requests: number;
  readonly tokens_in: number;
  readonly tokens_in_new: number;
}

export interface Comparison {
  readonly host: string;
  readonly context_window: number;
  readonly summary_chars: number;
  readonly native: Side;
  readonly package: Side;
}

/** Counts tokens; texts come again in every request of a window, so each is counted once. */
class TokenCounter {
  readonly #known = new Map<string, number>();

  text(value: string): number {
    const known = this.#known.get(value);
    if (known !== undefined) return known;
    const tokens = tokensIn(value);
    this.#known.set(value, tokens);
    return tokens;
  }

  content(content: string | readonly Block[]): number {
    if (typeof content === "string") return this.text(content);
    let tokens = 0;
    for (const block of content) {
      if (block.type === "image") tokens += TOKENS_PER_IMAGE;
      else tokens += this.text(block.type === "text" ? block.text : JSON.stringify(block));
    }
    return tokens;
  }
}

/** Does the counting of one session. */
class Ledger {
  readonly #counter = new TokenCounter();
  #before: readonly string[] = [];
  #pending = { total: 0, fresh: 0 };
  #behindChange = false;
  #windowId = "w1";
  readonly firstRequests: number[] = [];
  summaryCalls = 0;
  extra = { calls: 0, in: 0, fresh: 0, out: 0 };
  requests = 0;
  tokensIn = 0;
  tokensFresh = 0;

  onRequest(request: Request): void {
    const head = `${request.systemPrompt}\n${JSON.stringify(request.tools)}`;
    const parts = [head, ...request.messages.map((message) => JSON.stringify(message.content))];
    const sizes = [this.#counter.text(head), ...request.messages.map(({ content }) => this.#counter.content(content))];
    let same = 0;
    while (same < parts.length && parts[same] === this.#before[same]) same++;
    const total = sizes.reduce((sum, size) => sum + size, 0);
    const fresh = sizes.slice(same).reduce((sum, size) => sum + size, 0);
    this.#pending = { total, fresh };
    this.requests++;
    this.tokensIn += total;
    this.tokensFresh += fresh;
    if (isSummarizerRequest(request)) {
      this.summaryCalls++;
      this.#behindChange = true;
      return;
    }
    // A summary is another conversation: the one before it goes on.
    this.#before = parts;
    const windowId = windowOf(request) ?? this.#windowId;
    if (this.#behindChange || windowId !== this.#windowId) this.firstRequests.push(total);
    this.#behindChange = false;
    this.#windowId = windowId;
  }

  /** The answer of the newest request, when it was made only for a change. */
  onExtra(answer: readonly Block[]): void {
    this.extra.calls++;
    this.extra.in += this.#pending.total;
    this.extra.fresh += this.#pending.fresh;
    this.extra.out += this.#counter.content(answer);
  }
}

/** The form of Pi's own summaries, at a fixed length. */
function scriptedSummary(): string {
  const line =
    "- The totals are whole cents; the tests of money, tax and dates pass; src/report.js was changed last.\n";
  return `## Goal\n${line}## Progress\n${line.repeat(SUMMARY_CHARS / line.length)}`.slice(0, SUMMARY_CHARS);
}

/** A provider refuses what is too long. */
function refuseTooLong(request: Request): void {
  const tokens = requestTokens(request);
  if (tokens > CONTEXT_WINDOW) throw new Error(`prompt is too long: ${tokens} tokens > ${CONTEXT_WINDOW} maximum`);
}

/** Items before the point from which the host's last compaction kept its context. */
function closedByCompaction(pi: PiSession, items: readonly ExpectedItem[]): readonly ExpectedItem[] {
  const last = pi.branch().findLast((entry) => entry.type === "compaction") as
    | { firstKeptEntryId?: string }
    | undefined;
  const kept = items.findIndex(({ id }) => id === last?.firstKeptEntryId);
  return items.slice(0, Math.max(0, kept));
}

/** Short texts are alike by chance. */
const LONG_ENOUGH_TO_KNOW = 80;

/**
 * Closed items that the last request still holds; without tools that read them there is no other way. What an open item
 * says again proves nothing.
 */
function stillThere(
  items: readonly ExpectedItem[],
  closed: readonly ExpectedItem[],
  last: Request | undefined,
): number {
  const isOpen = new Set(items.slice(closed.length).map(({ text: value }) => value));
  const texts = new Set((last?.messages ?? []).map((message) => textOf(message)));
  return closed.filter(
    ({ text: value }) => value.length >= LONG_ENOUGH_TO_KNOW && !isOpen.has(value) && texts.has(value),
  ).length;
}

async function playSide(withPackage: boolean): Promise<Side & { host: string }> {
  const environment = enterEnvironment();
  try {
    const story = makeStory({ notes: withPackage });
    const ledger = new Ledger();
    let deed: Deed = "work";
    let lastRequest: Request | undefined;
    const listener: Listener = {
      onDeed: (one) => {
        deed = one;
      },
      // Pi's own has nothing to do when its threshold has just done it.
      ...(withPackage ? {} : { onCompactRefused: () => undefined }),
    };
    const actor = player(story, listener, withPackage ? manners() : undefined);
    const next: Script = async (request, n) => {
      refuseTooLong(request);
      if (isSummarizerRequest(request)) {
        const summary = [text(scriptedSummary())];
        ledger.onExtra(summary);
        return summary;
      }
      lastRequest = request;
      const answer = (await actor.next(request, n)) as readonly Block[];
      if (deed !== "work") ledger.onExtra(answer);
      return answer;
    };
    const project = join(environment.directory, "tally");
    writeFiles(story.files, project);
    const pi = await openPi({
      next,
      project,
      contextWindow: CONTEXT_WINDOW,
      ui: true,
      bare: !withPackage,
      requestLimit: Number.POSITIVE_INFINITY,
      onRequest: (request) => ledger.onRequest(request),
    });
    pi.session.setActiveToolsByName([...pi.session.getActiveToolNames(), "grep", "ls"]);
    await actor.play(pi);
    const items = expectedItems(pi.session.sessionFile ?? "");
    const current = items.at(-1)?.windowId;
    const closed = withPackage ? items.filter(({ windowId }) => windowId !== current) : closedByCompaction(pi, items);
    const wrong = withPackage ? (await readEverythingBack(pi)).differences.length : 0;
    const readable = withPackage ? closed.length - wrong : stillThere(items, closed, lastRequest);
    const host = pi.host.name;
    await pi.dispose();
    const { firstRequests, extra } = ledger;
    return {
      host,
      changes: firstRequests.length,
      summary_calls: ledger.summaryCalls,
      extra_calls: extra.calls,
      extra_in: extra.in,
      extra_in_new: extra.fresh,
      extra_out: extra.out,
      first_request: Math.round(firstRequests.reduce((sum, size) => sum + size, 0) / Math.max(1, firstRequests.length)),
      closed_items: closed.length,
      readable_items: readable,
      requests: ledger.requests,
      tokens_in: ledger.tokensIn,
      tokens_in_new: ledger.tokensFresh,
    };
  } finally {
    environment.remove();
  }
}

export async function compareCompaction(): Promise<Comparison> {
  const { host, ...native } = await playSide(false);
  const { host: _same, ...own } = await playSide(true);
  return { host, context_window: CONTEXT_WINDOW, summary_chars: SUMMARY_CHARS, native, package: own };
}
