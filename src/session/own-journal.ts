// The session's own journal, from which other agents read its history: kept up with the log. The session is registered by the
// time there is something to read.
import { messageOf } from "../errors.ts";
import type { EntrySource } from "../host/entries.ts";
import { JournalWriter } from "../journal/writer.ts";
import type { Work } from "../storage/work.ts";
import type { SessionTask } from "../task/membership.ts";
import type { Ending } from "../task/presence.ts";

export interface OwnJournalParts {
  readonly task: SessionTask;
  readonly entries: EntrySource;
  /** Whether the log holds nothing yet that others read: no item, and no category. */
  readonly isEmpty: () => boolean;
  /** Shows a long fill of the journal; stopped, the journal stays as it is until the session is opened again. */
  readonly work: Work;
  /** Called once for each problem; the session continues. */
  readonly report: (problem: string) => void;
}

export class OwnJournal {
  readonly #parts: OwnJournalParts;
  readonly #journal: JournalWriter;
  readonly #reported = new Set<string>();

  constructor(parts: OwnJournalParts) {
    this.#parts = parts;
    const { task, work } = parts;
    this.#journal = new JournalWriter({ directory: task.historyDir, agent: task.agent, work });
  }

  /**
   * Brings the own journal up to the log: at once where the session is registered and nothing else is being written. It
   * never rejects: what fails is reported, and the next call retries it.
   */
  sync(): Promise<void> {
    return this.#sync((journal, entries) => journal.sync(entries));
  }

  /** As `sync`, but only for other processes to see: the next `sync` brings it to the disk. */
  show(): Promise<void> {
    return this.#sync((journal, entries) => journal.sync(entries, { flush: false }));
  }

  /** Nothing is written for a while. */
  rest(): void {
    this.#journal.rest();
  }

  /** As `sync`, for a process that is about to end and cannot wait. */
  syncNow(): void {
    const { entries, task } = this.#parts;
    if (this.isStopped || !task.presence.isRegistered) return;
    try {
      this.#journal.syncNow(entries);
    } catch {
      // It cannot be shown any more; the session's next start catches up.
    }
  }

  /** The session is in use: registers it, so that others find what there is to read. */
  async announce(): Promise<void> {
    if (this.isStopped) return;
    try {
      await this.#parts.task.join();
    } catch (error) {
      this.#report(messageOf(error));
    }
  }

  /**
   * The session ends: the registry says that no process runs it. Its journal is whole; a root, which can be opened again,
   * leaves slow work until then. A child is not opened again, and may have no other record.
   */
  async end(ending: Ending = {}): Promise<void> {
    const { task } = this.#parts;
    await (task.parent === null ? this.#sync((journal, entries) => journal.end(entries)) : this.sync());
    this.rest();
    await task.presence.markEnded(ending);
  }

  /** Whether a person has stopped the journal. */
  get isStopped(): boolean {
    return this.#parts.work.signal.aborted;
  }

  async #sync(bringUp: (journal: JournalWriter, entries: EntrySource) => Promise<void>): Promise<void> {
    const { entries, isEmpty, task } = this.#parts;
    if (this.isStopped) return;
    try {
      // A session in which nothing was said leaves no files.
      if (isEmpty()) return;
      if (!task.presence.isRegistered) await task.join();
      await bringUp(this.#journal, entries);
    } catch (error) {
      if (this.isStopped) return;
      this.#report(`${messageOf(error)} Until then other agents do not see what is new in this session.`);
    }
  }

  #report(problem: string): void {
    if (this.#reported.has(problem)) return;
    this.#reported.add(problem);
    this.#parts.report(problem);
  }
}
