// Finding the root task of a session that starts again: by the path of its file; when the file has moved, by its id,
// in the storages near it and in an index below the agent directory. A file that moved is gone from where it was: two
// files with one id (a copy, an id chosen by hand) are two sessions. What cannot be read is never replaced.
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { messageOf } from "../errors.ts";
import type { SessionIdentity } from "../host/context.ts";
import { type DiskCalls, NODE_DISK } from "../storage/disk.ts";
import { type JsonFile, JsonStore, readJson } from "../storage/json-store.ts";
import { copyId, hashedName, homeStorage, indexStorage, launcherPlaces, locatorLayout, sessionKey } from "./layout.ts";
import { type Location, parseLocation } from "./location.ts";
import { Registry } from "./registry.ts";

const LOCATOR_FORMAT_VERSION = 1;
const LOCATOR_NAME = /^[0-9a-f]{32}\.json$/;
/** At most so many locators of one storage are read to find one by its session's id, the newest. */
const SCAN_MAX_FILES = 1_000;
/** No locator is older than its session, but for the coarse times of some disks. */
const SCAN_SLACK_MS = 5_000;

export type Found =
  | { readonly type: "none" }
  | { readonly type: "found"; readonly location: Location }
  /** There is a locator, and it cannot be used; it stays as it is. */
  | { readonly type: "unusable"; readonly problem: string };

export interface LocatorOptions {
  readonly agentDir: string;
  readonly disk?: DiskCalls | undefined;
  readonly staleLockMs?: number | undefined;
  readonly lockWaitMs?: number | undefined;
}

const NONE: Found = { type: "none" };

export class Locators {
  readonly #options: LocatorOptions;
  readonly #disk: DiskCalls;

  constructor(options: LocatorOptions) {
    this.#options = options;
    this.#disk = options.disk ?? NODE_DISK;
  }

  find(identity: SessionIdentity): Found {
    try {
      const places = this.#placesNear(identity);
      return this.#byKey(identity, places) ?? this.#byScan(identity, places) ?? this.#byIndex(identity) ?? NONE;
    } catch (error) {
      return { type: "unusable", problem: messageOf(error) };
    }
  }

  /** Writes the locators of a session, if they do not say so already. */
  async save(identity: SessionIdentity, location: Location): Promise<void> {
    const key = sessionKey(identity);
    await this.#write(location.storageRoot, key, location);
    if (identity.sessionFile === undefined) return;
    // A root whose file has moved is found beside it again.
    const home = homeStorage(identity, this.#options.agentDir);
    if (location.parent === null && home !== location.storageRoot) await this.#write(home, key, location);
    await this.#write(indexStorage(this.#options.agentDir), location.sessionId, location);
  }

  /**
   * The files that `save` has written for a session of a task. One that by now says another task, or that cannot be
   * read, is not among them.
   */
  filesOf(
    { storageRoot, runId }: Pick<Location, "storageRoot" | "runId">,
    session: Pick<Location, "sessionId"> & { readonly sessionKey: string },
  ): string[] {
    const index = indexStorage(this.#options.agentDir);
    const sources = [this.#source(storageRoot, session.sessionKey), this.#source(index, session.sessionId)];
    return sources.map(({ file }) => file).filter((file) => this.#readOther(file)?.runId === runId);
  }

  /** Whether two paths lead to one file that is there. */
  isOneFile(one: string, other: string): boolean {
    return one === other || this.#isOneFile(one, other);
  }

  isThere(path: string): boolean {
    return this.#isThere(path);
  }

  /** Removes what killed processes left beside the locators. To be called at start. */
  sweep(storageRoot: string): void {
    for (const storage of [storageRoot, indexStorage(this.#options.agentDir)]) {
      this.#store(storage).sweep();
    }
  }

  /** The storages a session may have been registered in by where its file lies: its own, its launchers'. */
  #placesNear(identity: SessionIdentity): string[] {
    const home = homeStorage(identity, this.#options.agentDir);
    if (identity.sessionFile === undefined) return [home];
    const above = launcherPlaces(identity.sessionFile).filter(({ parentFile }) => this.#isThere(parentFile));
    return [home, ...above.map(({ storageRoot }) => storageRoot)];
  }

  #byKey(identity: SessionIdentity, places: readonly string[]): Found | undefined {
    for (const place of places) {
      const location = this.#read(this.#source(place, sessionKey(identity)));
      // Another session's file was here before.
      if (!location || !isNameOf(location.sessionId, identity, identity.sessionFile)) continue;
      return this.#inItsStorage(location, place);
    }
    return undefined;
  }

  #byScan(identity: SessionIdentity, places: readonly string[]): Found | undefined {
    if (identity.sessionFile === undefined) return undefined;
    for (const place of places) {
      for (const file of this.#locatorsSince(place, identity.createdAt - SCAN_SLACK_MS)) {
        const location = this.#readOther(file);
        if (location && this.#isMovedHere(location, identity)) return this.#inItsStorage(location, place);
      }
    }
    return undefined;
  }

  #byIndex(identity: SessionIdentity): Found | undefined {
    if (identity.sessionFile === undefined) return undefined;
    const location = this.#read(this.#source(indexStorage(this.#options.agentDir), identity.sessionId));
    return location && this.#isMovedHere(location, identity) ? this.#inItsStorage(location) : undefined;
  }

  /** A storage may have been moved as a whole: then its task lies beside the locator and not where that says. */
  #inItsStorage(location: Location, place = location.storageRoot): Found {
    for (const storageRoot of [place, location.storageRoot]) {
      const { runId, rootSessionId } = location;
      const registry = new Registry({ context: { version: 1, runId, rootSessionId, storageRoot }, disk: this.#disk });
      if (registry.exists()) return { type: "found", location: { ...location, storageRoot } };
    }
    // A root starts a new task where it is.
    if (location.parent === null) return NONE;
    const problem =
      `This session was the agent ${location.address} of a root task, and that task is gone ` +
      `(${location.storageRoot}). The session continues on its own.`;
    return { type: "unusable", problem };
  }

  #isMovedHere(location: Location, identity: SessionIdentity): boolean {
    const { sessionFile, createdAt } = identity;
    if (!isNameOf(location.sessionId, identity, location.sessionFile)) return false;
    if (location.sessionCreated !== createdAt) return false;
    if (location.sessionFile === null || sessionFile === undefined) return false;
    return !this.#isThere(location.sessionFile) || this.#isOneFile(location.sessionFile, sessionFile);
  }

  #isThere(path: string): boolean {
    return this.#fileId(path) !== undefined;
  }

  /** One file may have two paths, through a linked directory. */
  #isOneFile(one: string, other: string): boolean {
    const id = this.#fileId(one);
    return id !== undefined && id === this.#fileId(other);
  }

  #fileId(path: string): string | undefined {
    try {
      const { dev, ino } = this.#disk.lstatSync(path);
      return `${dev}:${ino}`;
    } catch {
      return undefined;
    }
  }

  #locatorsSince(place: string, sinceMs: number): string[] {
    const { directory } = locatorLayout(place);
    const found: { file: string; modifiedMs: number }[] = [];
    try {
      for (const name of this.#disk.readdirSync(directory)) {
        if (!LOCATOR_NAME.test(name)) continue;
        const file = join(directory, name);
        const { mtimeMs: modifiedMs } = this.#disk.lstatSync(file);
        if (modifiedMs >= sinceMs) found.push({ file, modifiedMs });
      }
    } catch {
      // Not there, or not to be looked at: then nothing is found in it.
    }
    found.sort((a, b) => b.modifiedMs - a.modifiedMs);
    return found.slice(0, SCAN_MAX_FILES).map(({ file }) => file);
  }

  #source(storage: string, key: string): JsonFile<Location> {
    return locatorFile(join(locatorLayout(storage).directory, `${hashedName(key)}.json`));
  }

  #read(source: JsonFile<Location>): Location | undefined {
    return readJson(source, this.#disk);
  }

  /** Another session's locator, met while looking for this one's: what is wrong with it is its own session's business. */
  #readOther(file: string): Location | undefined {
    try {
      return this.#read(locatorFile(file));
    } catch {
      return undefined;
    }
  }

  #store(storage: string): JsonStore {
    const { staleLockMs: staleMs, lockWaitMs: waitMs } = this.#options;
    return new JsonStore(locatorLayout(storage).meta, { disk: this.#disk, staleMs, waitMs });
  }

  async #write(storage: string, key: string, location: Location): Promise<void> {
    const said = (before: Location | undefined) => (before && isDeepStrictEqual(before, location) ? before : location);
    await this.#store(storage).update(this.#source(storage, key), said);
  }
}

/** Whether a session is registered under this id: its own, or the one it has as a copy in that file. */
function isNameOf(name: string, { sessionId }: SessionIdentity, sessionFile: string | null | undefined): boolean {
  return name === sessionId || (typeof sessionFile === "string" && name === copyId(sessionId, sessionFile));
}

function locatorFile(file: string): JsonFile<Location> {
  return {
    file,
    version: LOCATOR_FORMAT_VERSION,
    shown: "The record of which root task this session belongs to",
    parse: parseLocation,
    fields: (location) => ({ ...location }),
  };
}
