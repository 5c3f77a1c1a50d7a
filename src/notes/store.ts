// One agent's notes on disk: plain files below one root, written under a lock per note, read without any. The root
// holds notes and nothing else; locks, temporaries and creation times lie in the sibling `<root>.meta`. Who may read
// or write which agent's notes is decided before anything here is called.
import { isAbsolute, join } from "node:path";
import { shownValue, TokenBudgetError } from "../errors.ts";
import { type DiskCalls, modifiedMsOf, NODE_DISK, storageFailure } from "../storage/disk.ts";
import type { Sweep } from "../storage/left-overs.ts";
import { type Held, LockedFiles } from "../storage/locked-files.ts";
import { readPlainFile } from "../storage/plain-file.ts";
import { removeFile } from "../storage/removal.ts";
import { atOnce } from "../storage/slices.ts";
import { textOfUtf8 } from "../storage/text.ts";
import { foldedName, type LeftOut, makeParents, removeEmpty } from "../storage/tree.ts";
import type { Work } from "../storage/work.ts";
import { CreationTimes, hashedName } from "./created.ts";
import { NoteFiles, type NoteFilesOptions } from "./files.ts";
import { assertNoteFits, isLargeNote, NOTES_MAX_FILE_BYTES } from "./limits.ts";
import {
  listingNotes,
  type NewestNotes,
  type NoteList,
  type NoteListQuery,
  type NoteSearch,
  type NoteSearchQuery,
  newestNotes,
  searchingNotes,
} from "./listing.ts";
import type { NoteText } from "./shapes.ts";

export interface NotesStoreOptions extends NoteFilesOptions {
  readonly maxFileBytes?: number;
  readonly staleLockMs?: number;
  readonly lockWaitMs?: number;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

export interface NoteWrite {
  /** UTF-8 bytes of the whole note afterwards. */
  readonly bytes: number;
  readonly created: boolean;
}

export interface NoteUsage {
  readonly files: number;
  readonly totalBytes: number;
  /** Notes over 1/16 of the cap. */
  readonly large: readonly { readonly path: string; readonly bytes: number }[];
}

export interface NotesCopy {
  readonly copied: number;
  /** What could not be read, and what is no note, with the reason. */
  readonly leftOut: readonly LeftOut[];
}

/** A change of one note, carried out under its lock. */
interface Change {
  readonly path: string;
  /** The new content; `old` is read only when the change needs it, undefined when there is no note. */
  readonly content: (old: Buffer | undefined) => Buffer;
  readonly needsOld: boolean;
  readonly maxFileBytes: number;
  /** For a copy: the times of the original, and a note that is there stays as it is. */
  readonly copyOf?: { readonly createdMs: number; readonly updatedMs: number };
}

/** What lies beside the notes of a root. */
function metaOf(root: string): string {
  return `${root}.meta`;
}

/** Removes what killed processes left beside the notes of any agent, older than a write can last; never a note. */
export function sweepNotes(root: string): Sweep {
  return new LockedFiles(metaOf(root)).sweep();
}

/** Spellings that a case-insensitive disk takes for one file share a lock. */
function lockNameOf(path: string): string {
  return hashedName(foldedName(path));
}

export class NotesStore {
  readonly root: string;
  readonly agent: string;
  readonly maxFileBytes: number;
  readonly #disk: DiskCalls;
  readonly #now: () => number;
  readonly #notes: NoteFiles;
  readonly #files: LockedFiles;
  readonly #created: CreationTimes;

  constructor(options: NotesStoreOptions) {
    const { root, agent, staleLockMs: staleMs, lockWaitMs: waitMs } = options;
    if (!isAbsolute(root)) {
      const message = `The notes root is ${shownValue(root)}; it must be an absolute path. Give one.`;
      throw new TokenBudgetError("invalid_argument", message);
    }
    this.root = root;
    this.agent = agent;
    this.maxFileBytes = options.maxFileBytes ?? NOTES_MAX_FILE_BYTES;
    this.#disk = options.disk ?? NODE_DISK;
    this.#now = options.now ?? Date.now;
    this.#notes = new NoteFiles(options);
    this.#files = new LockedFiles(metaOf(root), { disk: this.#disk, staleMs, waitMs });
    this.#created = new CreationTimes(join(metaOf(root), "created"), this.#disk);
  }

  /** Creates or replaces a note. */
  async write(path: string, text: string, maxFileBytes: number = this.maxFileBytes): Promise<NoteWrite> {
    const bytes = this.#storable(path, text, maxFileBytes);
    return this.#change({ path, content: () => bytes, needsOld: false, maxFileBytes });
  }

  /** Adds exactly the text to the end of a note, creating it if needed. */
  async append(path: string, text: string, maxFileBytes: number = this.maxFileBytes): Promise<NoteWrite> {
    const bytes = this.#storable(path, text, maxFileBytes);
    const content = (old: Buffer | undefined) => (old === undefined ? bytes : Buffer.concat([old, bytes]));
    return this.#change({ path, content, needsOld: true, maxFileBytes });
  }

  /** A whole note; `not_found` names some that look like it. */
  read(path: string): NoteText {
    const { bytes, modifiedMs } = this.#notes.read(path);
    return { text: textOfUtf8(bytes), bytes: bytes.length, updatedAt: new Date(modifiedMs).toISOString() };
  }

  /** Removes a note, with its creation time; one that is not there is no error. */
  async remove(path: string): Promise<void> {
    const shown = this.#notes.shown(path);
    await this.#files.hold({ name: lockNameOf(path), shown }, (held) => {
      const file = this.#notes.find(path);
      try {
        held.assertOwned();
        if (file !== undefined) removeFile(file, this.#disk);
        this.#created.forget(path);
      } catch (error) {
        throw storageFailure(error, { shown, doing: "written" });
      }
    });
  }

  list(query: NoteListQuery = {}): NoteList {
    return atOnce(this.listing(query));
  }

  search(query: NoteSearchQuery): NoteSearch {
    return atOnce(this.searching(query));
  }

  /** The same, with a pause behind each note that is looked at. */
  listing(query: NoteListQuery = {}): Generator<void, NoteList> {
    return listingNotes(this.#notes, this.#created, query);
  }

  searching(query: NoteSearchQuery): Generator<void, NoteSearch> {
    return searchingNotes(this.#notes, this.#created, query);
  }

  /** The notes that were updated last, newest first, without their times of creation. */
  newest(limit: number): NewestNotes {
    return newestNotes(this.#notes, limit);
  }

  /** Sizes for the soft warnings. */
  usage(maxFileBytes: number = this.maxFileBytes): NoteUsage {
    const { files } = this.#notes.walk("");
    const large = files
      .filter(({ bytes }) => isLargeNote(bytes, maxFileBytes))
      .map(({ path, bytes }) => ({ path, bytes }));
    return { files: files.length, totalBytes: files.reduce((sum, { bytes }) => sum + bytes, 0), large };
  }

  /**
   * Copies another store's notes as they are now, with their times; a note that is here already stays as it is. When stopped,
   * it keeps what it has copied.
   */
  async copyFrom(source: NotesStore, work?: Work): Promise<NotesCopy> {
    const { files, leftOut } = source.#notes.walk("");
    let copied = 0;
    for (const [number, file] of files.entries()) {
      if (work?.signal.aborted) break;
      work?.report(number, files.length);
      const original = source.#notes.readFound(file, leftOut);
      if (original === undefined) continue;
      const copyOf = { createdMs: source.#created.of(file), updatedMs: original.modifiedMs };
      const content = () => original.bytes;
      // What is stored already is kept, even if the cap was lowered since.
      const maxFileBytes = Number.POSITIVE_INFINITY;
      const { created } = await this.#change({ path: file.path, content, needsOld: false, maxFileBytes, copyOf });
      if (created) copied++;
    }
    work?.report(files.length, files.length);
    return { copied, leftOut };
  }

  /** Removes what killed processes left beside the notes; never a note. To be called at start. */
  sweep(): Sweep {
    return this.#files.sweep();
  }

  /** The text as bytes; what can be refused without a look at the disk is refused here. */
  #storable(path: string, text: string, maxFileBytes: number): Buffer {
    this.#notes.assertPath(path);
    const shown = this.#notes.shown(path);
    if (!text.isWellFormed()) {
      const reason = "text holds half of a surrogate pair, which UTF-8 cannot store";
      throw new TokenBudgetError("invalid_argument", `${shown} was not changed: ${reason}. Send whole characters.`);
    }
    const bytes = Buffer.from(text, "utf8");
    assertNoteFits(shown, bytes.length, maxFileBytes);
    return bytes;
  }

  async #change(change: Change): Promise<NoteWrite> {
    const { path } = change;
    const shown = this.#notes.shown(path);
    return this.#files.hold({ name: lockNameOf(path), shown }, (held) => {
      const file = this.#notes.find(path);
      const isNew = file === undefined;
      const old = !isNew && change.needsOld ? readPlainFile(this.#disk, file, shown)?.bytes : undefined;
      if (!isNew && change.copyOf) return { bytes: 0, created: false };
      const content = change.content(old);
      assertNoteFits(shown, content.length, change.maxFileBytes);
      this.#commit(change, content, isNew, held);
      return { bytes: content.length, created: isNew };
    });
  }

  #commit({ path, copyOf }: Change, content: Buffer, isNew: boolean, held: Held): void {
    const shown = this.#notes.shown(path);
    const target = join(this.root, path);
    const nowMs = this.#now();
    let parents: string[] = [];
    try {
      parents = makeParents(this.#disk, this.root, path);
      // The creation time comes first: a note must never be there without it.
      if (isNew) this.#created.record(path, copyOf?.createdMs ?? nowMs, held);
      else this.#created.keep(path, () => this.#fileTimes(target), held);
      const modified = new Date(copyOf?.updatedMs ?? nowMs);
      held.replace({ target, content, shown, modified });
    } catch (error) {
      removeEmpty(this.#disk, parents);
      throw storageFailure(error, { shown, doing: "written" });
    }
  }

  #fileTimes(target: string): { bornMs: number; modifiedMs: number } {
    const stats = this.#disk.lstatSync(target);
    return { bornMs: stats.birthtimeMs, modifiedMs: modifiedMsOf(stats) };
  }
}
