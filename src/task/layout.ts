// Where the data of a session and of its root task lies on disk. Pure: it joins paths and hashes names, it does not
// look at the disk.
import { createHash } from "node:crypto";
import { basename, dirname, join, resolve } from "node:path";
import type { SessionIdentity } from "../host/context.ts";
import { ROOT_ADDRESS } from "./addresses.ts";

const STORAGE_FOLDER = "pi-token-budget";
/** Sessions without a file have a folder below the agent directory. */
const MEMORY_FOLDER = "memory";
const HASH_HEX_DIGITS = 32;
const AUTOMATIC_NAME_HEX_DIGITS = 12;
/** After a label: the name is in every line about its agent, and only agents of one label can collide. */
const LABELLED_NAME_HEX_DIGITS = 8;
const LABEL_MAX_CHARS = 32;

/** How many folders below the root's a launcher may put a child's session file. */
const LAUNCHER_FOLDERS_MAX = 32;

type Whereabouts = Pick<SessionIdentity, "sessionId" | "sessionFile">;

function sha256(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}

/** A file name for a text of any length and any characters. */
export function hashedName(text: string): string {
  return sha256(text).slice(0, HASH_HEX_DIGITS);
}

/** What a session is known by: the absolute path of its file; without a file, its id. */
export function sessionKey({ sessionId, sessionFile }: Whereabouts): string {
  return sessionFile === undefined ? sessionId : resolve(sessionFile);
}

/** A child's label, as the beginning of its name; empty when no character of it can be in one. */
function labelOf(calledBy: string): string {
  const plain = calledBy.toLowerCase().replace(/[^a-z0-9]+/g, "_");
  return plain.replace(/^_+/, "").slice(0, LABEL_MAX_CHARS).replace(/_+$/, "");
}

/** The name of a child that was given none; its launcher's label makes it one that a parent recognises. */
export function automaticName(key: string, calledBy?: string): string {
  const label = calledBy === undefined ? "" : labelOf(calledBy);
  const digits = label === "" ? AUTOMATIC_NAME_HEX_DIGITS : LABELLED_NAME_HEX_DIGITS;
  return `${label || "agent"}_${sha256(key).slice(0, digits)}`;
}

const PLAIN_ID = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9_-])?$/;
const WINDOWS_DEVICE = /^(con|prn|aux|nul|(com|lpt)[0-9])(\.|$)/i;

/** A name that any id can have. */
export function hashedId(id: string): string {
  return `id_${hashedName(id)}`;
}

/** What a second session file with the id of another one is known by, so that each has folders of its own. */
export function copyId(sessionId: string, sessionFile: string): string {
  return hashedId(`${sessionId}\n${resolve(sessionFile)}`);
}

/** A folder name for an id: the id itself as hosts make them; anything else, which might lead elsewhere, is hashed. */
function folderOf(id: string): string {
  return PLAIN_ID.test(id) && !WINDOWS_DEVICE.test(id) ? id : hashedId(id);
}

/** Where sessions without a file keep their data, each root in a folder that is removed whole when the root ends. */
export function memoryFolder(agentDir: string): string {
  return join(agentDir, STORAGE_FOLDER, MEMORY_FOLDER);
}

/** Whether a storage is that of a root without a file. */
export function isEphemeral(storageRoot: string, agentDir: string): boolean {
  return dirname(storageRoot) === memoryFolder(agentDir);
}

/** Where a session's own storage is, were it a root. */
export function homeStorage({ sessionId, sessionFile }: Whereabouts, agentDir: string): string {
  if (sessionFile === undefined) return join(memoryFolder(agentDir), folderOf(sessionId));
  return join(dirname(resolve(sessionFile)), STORAGE_FOLDER);
}

export interface LauncherPlace {
  /** The session file whose children's folder this session lies in, if it is there. */
  readonly parentFile: string;
  /** The storage beside it. */
  readonly storageRoot: string;
}

/** Launchers put children into a folder named like their parent's session file: the possible ones, nearest first. */
export function launcherPlaces(sessionFile: string): LauncherPlace[] {
  const places: LauncherPlace[] = [];
  let folder = dirname(resolve(sessionFile));
  while (places.length < LAUNCHER_FOLDERS_MAX && dirname(folder) !== folder) {
    const above = dirname(folder);
    places.push({
      parentFile: join(above, `${basename(folder)}.jsonl`),
      storageRoot: join(above, STORAGE_FOLDER),
    });
    folder = above;
  }
  return places;
}

/** The notes of a root session. */
export function rootNotes(storageRoot: string, rootSessionId: string): string {
  return join(storageRoot, "notes", folderOf(rootSessionId));
}

/** What lies in a storage beside the tasks: which session belongs to which of them. */
export interface LocatorLayout {
  readonly directory: string;
  /** Locks and temporaries of the locators. */
  readonly meta: string;
}

export function locatorLayout(storageRoot: string): LocatorLayout {
  const directory = join(storageRoot, "sessions");
  return { directory, meta: `${directory}.meta` };
}

/** The folder of the agent directory that finds a session by its id, wherever its file has gone. */
export function indexStorage(agentDir: string): string {
  return join(agentDir, STORAGE_FOLDER);
}

export interface TaskLayout {
  readonly directory: string;
  readonly registry: string;
  /** Locks and temporaries of the registry. */
  readonly meta: string;
  /** The generated extension that children load. */
  readonly childEntry: string;
  readonly records: string;
  readonly work: string;
  /** The notes of all agents but the root. */
  readonly childNotes: string;
  /** The notes of an agent of the task. */
  notes(address: string): string;
  /** The journal of an agent of the task. */
  history(address: string): string;
}

/** Everything of one root task. */
export function taskLayout(
  storageRoot: string,
  task: { readonly runId: string; readonly rootSessionId: string },
): TaskLayout {
  const directory = join(tasksFolder(storageRoot), folderOf(task.runId));
  return {
    directory,
    registry: join(directory, "registry.json"),
    meta: join(directory, "registry.meta"),
    childEntry: join(directory, "child-extension.ts"),
    records: join(directory, "records"),
    work: join(directory, "work"),
    childNotes: join(directory, "notes"),
    notes: (address) =>
      address === ROOT_ADDRESS
        ? rootNotes(storageRoot, task.rootSessionId)
        : join(directory, "notes", hashedName(address)),
    history: (address) => join(directory, "history", hashedName(address)),
  };
}

/** The folder that holds every root task of a storage. */
export function tasksFolder(storageRoot: string): string {
  return join(storageRoot, "tasks");
}

export interface StorageLayout {
  /** Everything of the root session's directory lies below it. */
  readonly root: string;
  /** The notes of this root session. */
  readonly notesRoot: string;
}

export function storageLayout(session: Whereabouts, agentDir: string): StorageLayout {
  const root = homeStorage(session, agentDir);
  return { root, notesRoot: rootNotes(root, session.sessionId) };
}
