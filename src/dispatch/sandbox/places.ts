// What of the disk a child needs, beside the system: the programs, Pi's agent directory without its sessions, its own part of the
// root task, and the task's directory. Everything else is not there for it.
import { homedir } from "node:os";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import { agentDirectory } from "../../host/agent-dir.ts";
import { packageOf } from "../../packages/found.ts";
import { kindAt, makePrivateDirectory, namesAt, realPathOf } from "../../storage/blobs.ts";
import { rootNotes, type TaskLayout, taskLayout } from "../../task/layout.ts";
import type { ChildProcess } from "./sandbox.ts";

/** A path that a child sees, under the same name. A later one lies over an earlier one that it is inside of. */
export interface Place {
  readonly path: string;
  /** `empty`: a folder in memory, whatever lies there. */
  readonly access: "read" | "write" | "empty";
}

const read = (path: string): Place => ({ path, access: "read" });
const write = (path: string): Place => ({ path, access: "write" });
const empty = (path: string): Place => ({ path, access: "empty" });

const NODE_MODULES = "node_modules";
/** In the agent directory: what other sessions have said, and this package's own records of them. */
const OF_OTHERS: ReadonlySet<string> = new Set(["sessions", "pi-token-budget"]);
/** Pi writes to it when it renews a login. */
const LOGINS = "auth.json";

function isThere(path: string): boolean {
  return kindAt(path) !== "missing";
}

/** Whether `outer` is `inner` or holds it. */
export function holds(outer: string, inner: string): boolean {
  const way = relative(outer, inner);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

export function homeOf(env: ChildProcess["env"]): string {
  return env.HOME || homedir();
}

/** What a directory must not hold to be given to a child: a home, or the agent directory. */
export function heldPrivate(directory: string | null, env: ChildProcess["env"]): string | undefined {
  if (directory === null) return undefined;
  return [homeOf(env), agentDirectory(env)].find((path) => holds(directory, path));
}

function above(path: string): readonly string[] {
  return dirname(path) === path ? [] : [dirname(path), ...above(dirname(path))];
}

/** A package, and the packages that it may import: those in the `node_modules` above it. */
function packagePlaces(root: string): readonly string[] {
  return [root, ...above(root).flatMap((folder) => [join(folder, NODE_MODULES)])].filter(isThere);
}

/** What a word of a command names on the disk: a file of a package with all of that, or a file alone. */
function wordPlaces(word: string): readonly string[] {
  if (!isAbsolute(word) || kindAt(word) === "missing") return [];
  const real = realPathOf(word);
  const found = packageOf(dirname(real));
  return [word, real, ...(found === undefined ? [] : packagePlaces(found.root))];
}

/** The folders in which programs are looked for, and the packages that lie beside them. */
function pathPlaces(path: string): readonly string[] {
  const folders = path.split(":").filter((folder) => isAbsolute(folder) && kindAt(folder) === "directory");
  return folders.flatMap((folder) => [folder, join(dirname(folder), "lib", NODE_MODULES)]).filter(isThere);
}

/** The programs that run in the sandbox, when they are those of this machine; `isLeftOut` says which paths are not to be seen. */
export function programPlaces(child: ChildProcess, isLeftOut: (path: string) => boolean): Place[] {
  const { program, args, env, membership } = child;
  // What lies in the storage comes with the task, and is in no package.
  const words = [process.execPath, program, ...args].filter((word) => !holds(membership.storageRoot, word));
  const paths = [...words.flatMap(wordPlaces), ...pathPlaces(env.PATH ?? "")];
  return paths.filter((path) => !isLeftOut(path)).map(read);
}

function agentPlaces(env: ChildProcess["env"]): Place[] {
  const directory = agentDirectory(env);
  const names = namesAt(directory).filter((name) => !OF_OTHERS.has(name));
  return names.map((name) => (name === LOGINS ? write(join(directory, name)) : read(join(directory, name))));
}

/** The task's own part of the storage: no file of another task, and the histories of others only to be read. */
function taskPlaces({ membership, folder, cwd, isNamedCwd }: ChildProcess): Place[] {
  const { storageRoot, rootSessionId } = membership;
  const layout = taskLayout(storageRoot, membership);
  const { directory } = layout;
  const { agentName } = membership;
  const ownHistory = agentName === undefined ? [] : [layout.history(agentName)];
  const notes = rootNotes(storageRoot, rootSessionId);
  const written = [notes, `${notes}.meta`, ...ownHistory];
  // What it writes must be there before: it would be written into memory otherwise.
  for (const path of written) makePrivateDirectory(path);
  return [
    empty(storageRoot),
    write(directory),
    ...namesAt(directory).flatMap((name) => sharedPlace(join(directory, name), layout)),
    ...written.map(write),
    read(folder),
    ...(isNamedCwd ? [] : [write(cwd)]),
  ];
}

/** Whatever lies in the task's folder is code or a record, but for what its agents write together. */
function sharedPlace(path: string, { records, work, registry, meta, childNotes }: TaskLayout): Place[] {
  if ([registry, meta, childNotes].includes(path)) return [];
  return [records, `${records}.meta`, work].includes(path) ? [empty(path)] : [read(path)];
}

/** In the order in which they lie over each other. */
export function childPlaces(child: ChildProcess): readonly Place[] {
  return [
    read(child.packageRoot),
    ...packagePlaces(child.packageRoot).map(read),
    ...agentPlaces(child.env),
    ...(child.isNamedCwd ? [write(child.cwd)] : []),
    ...taskPlaces(child),
  ];
}
