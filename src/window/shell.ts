// The windows of one live session: keeps the index and the machine up with the log, and carries out the machine's
// effects. It decides nothing itself: what happens next is the machine's, what is sent is the projection's.
import type { CompactionAnswer } from "../host/api.ts";
import { blocksOf, type EntrySource, isToolCallBlock, type LogMessage } from "../host/entries.ts";
import { waitForEntry } from "../host/host.ts";
import { BranchIndex, type CatchUp, type Row, windowId } from "../log/branch.ts";
import type { ConsolidationDetails, OpenerCause, OpenerDetails } from "../log/marks.ts";
import { identityText, windowClosedReason, writeFailedReason } from "../prompts.ts";
import { type NotesIndex, nextBootstrap } from "./bootstrap.ts";
import {
  CURSOR_AT_START,
  type Effect,
  type FactCursor,
  factsSince,
  INITIAL_STATE,
  step,
  type WindowState,
} from "./machine.ts";
import { newestIsMissing, projectRequest, type SentIds } from "./projection.ts";

export interface WindowShellParts {
  readonly source: EntrySource;
  readonly agent: string;
  readonly runId: string;
  /** When the session was made; milliseconds since 1970. */
  readonly createdAt: number;
  /** The agent's own notes, newest update first. */
  readonly ownNotes: () => NotesIndex;
}

export type NewContext =
  | { readonly type: "opened"; readonly details: OpenerDetails }
  | { readonly type: "nothing_to_leave" }
  | { readonly type: "refused"; readonly reason: string };

export class WindowShell {
  readonly branch = new BranchIndex();
  readonly #parts: WindowShellParts;
  #state: WindowState = INITIAL_STATE;
  #cursor: FactCursor = CURSOR_AT_START;
  #sent: SentIds | undefined;

  constructor(parts: WindowShellParts) {
    this.#parts = parts;
  }

  /** Where the session stands now. */
  state(): WindowState {
    this.refresh();
    return this.#state;
  }

  /** Reads what the log has gained; another branch is read from its start. */
  refresh(): CatchUp {
    const change = this.branch.catchUp(this.#parts.source);
    if (change === "rebuilt") {
      this.#state = INITIAL_STATE;
      this.#cursor = CURSOR_AT_START;
    }
    if (change !== "same") {
      const { facts, cursor } = factsSince(this.branch, this.#cursor);
      for (const fact of facts) this.#state = step(this.#state, fact).state;
      this.#cursor = cursor;
    }
    return change;
  }

  /** The messages of the request that is about to go out. */
  async request(messages: readonly LogMessage[]): Promise<readonly LogMessage[]> {
    this.refresh();
    await waitForEntry(() => {
      this.refresh();
      return newestIsMissing(messages, this.branch);
    });
    const { messages: projected, sent } = projectRequest({
      messages,
      branch: this.branch,
      identity: { text: identityText(this.#identity(this.branch.current.id)), timestamp: this.#parts.createdAt },
      sent: this.#sent,
    });
    this.#sent = sent;
    this.#state = step(this.#state, { type: "request_sent" }).state;
    return projected;
  }

  /** Why a tool call may not run now; undefined when it may. */
  refusal(toolName: string): string | undefined {
    const effect = this.#decide({ type: "tool_called", batchIsClosed: this.#batchIsClosed() });
    return effect.type === "refuse_tool" ? windowClosedReason(toolName, this.branch.current.id) : undefined;
  }

  /** What a call of new_context comes to. */
  newContext(): NewContext {
    if (this.#batchIsClosed())
      return { type: "refused", reason: windowClosedReason("new_context", this.branch.current.id) };
    const effect = this.#decide({ type: "new_context_called" });
    switch (effect.type) {
      case "open_window":
        return { type: "opened", details: this.#openerDetails("new_context") };
      case "refuse_new_context":
        return { type: "refused", reason: writeFailedReason(this.#pathOfCall(effect.toolCallId)) };
      default:
        return { type: "nothing_to_leave" };
    }
  }

  /** What becomes of a compaction that the host is about to make. */
  compaction(byPerson: boolean, tokensBefore: number): CompactionAnswer {
    const effect = this.#decide({ type: "host_compaction_started", byPerson });
    switch (effect.type) {
      case "open_window": {
        const details = this.#openerDetails(byPerson ? "manual_compact" : "host_compaction");
        return this.#compactionInto(details, details.bootstrap, `opens ${details.opens}`, [], tokensBefore);
      }
      case "consolidate": {
        const { opener, id } = this.branch.current;
        if (!opener || opener.type === "foreign_compaction") return { cancel: true };
        const { bootstrap, bootstrapTimestamp } = opener.details;
        const details: ConsolidationDetails = { consolidates: id, bootstrap, bootstrapTimestamp };
        return this.#compactionInto(details, bootstrap, `repeats ${id}`, this.#keptRows(), tokensBefore);
      }
      default:
        return { cancel: true };
    }
  }

  #decide(event: Parameters<typeof step>[1]): Effect {
    this.refresh();
    const { effects } = step(this.#state, event);
    return effects[0] ?? { type: "allow_tool" };
  }

  #batchIsClosed(): boolean {
    this.refresh();
    return this.branch.batchIsClosed;
  }

  #identity(id: string) {
    return { agent: this.#parts.agent, windowId: id, runId: this.#parts.runId };
  }

  #openerDetails(cause: OpenerCause): OpenerDetails {
    const previous = this.branch.current;
    const number = previous.number + 1;
    const notes = this.#parts.ownNotes();
    return {
      opens: windowId(number),
      number,
      previous: previous.id,
      cause,
      bootstrap: nextBootstrap(this.branch, this.#identity(windowId(number)), notes),
      bootstrapTimestamp: Date.now(),
    };
  }

  /** The rows of the current window that the host keeps: all but an opener that is a message itself. */
  #keptRows(): readonly Row[] {
    const { current, rows } = this.branch;
    return rows.slice(current.firstRow + (current.opener?.type === "message" ? 1 : 0));
  }

  #compactionInto(
    details: OpenerDetails | ConsolidationDetails,
    bootstrap: string,
    what: string,
    kept: readonly Row[],
    tokensBefore: number,
  ): CompactionAnswer {
    // Hosts find the saved entry by its summary, so no two may be alike.
    const stamp = `${what}, ${details.bootstrapTimestamp}`;
    const firstKeptEntryId = kept[0]?.entry.id ?? `none-${details.bootstrapTimestamp}`;
    return { compaction: { summary: `${bootstrap}\n\n[${stamp}]`, firstKeptEntryId, tokensBefore, details } };
  }

  /** The path argument of a call of the current window. */
  #pathOfCall(toolCallId: string | undefined): string | undefined {
    for (let i = this.branch.rows.length - 1; i >= this.branch.current.firstRow; i--) {
      for (const block of blocksOf(this.branch.rows[i]?.entry.message?.content)) {
        if (!isToolCallBlock(block) || block.id !== toolCallId) continue;
        const path = (block.arguments as { path?: unknown } | null | undefined)?.path;
        return typeof path === "string" ? path : undefined;
      }
    }
    return undefined;
  }
}
