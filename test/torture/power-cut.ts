// What a power cut may leave of a run: its calls are recorded, and every state of the disk that a journaling file system may
// come back with is made from them. Bytes last when their file was flushed, names when their folder was; what was not may be
// lost or kept, a part of it, or zeros in its place; what changed in one folder comes back in order.
import { constants, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import type { Chance } from "../../fixtures/story/random.ts";
import type { TappedCall } from "./disk-tap.ts";

type NodeId = number;

/** A change of names: done whole or not at all. */
interface NameChange {
  readonly folders: readonly NodeId[];
  readonly changes: readonly { readonly folder: NodeId; readonly name: string; readonly node: NodeId | undefined }[];
}

type Event =
  | { readonly type: "names"; readonly change: NameChange }
  | { readonly type: "bytes"; readonly node: NodeId; readonly bytes: Buffer }
  | { readonly type: "flush"; readonly node: NodeId }
  | { readonly type: "begun" | "acknowledged" };

type Tree = Map<NodeId, Map<string, NodeId>>;

interface Opened {
  readonly node: NodeId;
  readonly appends: boolean;
  at: number;
}

const LOOKS = /^(l|f)?statSync$|^read|^exists|^access|^realpath/;
const NO_CONTENT = /utimesSync$|chmodSync$/;

const ROOT: NodeId = 0;

/** What the bytes of files that were not flushed have become. */
export const FATES = ["lost", "kept", "half", "zeros", "hole"] as const;
export type Fate = (typeof FATES)[number];

/** A folder and files, by path; undefined for a folder. */
export type DiskState = ReadonlyMap<string, Buffer | undefined>;

/** Records what is done below a folder. */
export class Recording {
  readonly events: Event[] = [];
  readonly #base: string;
  readonly #tree: Tree = new Map([[ROOT, new Map()]]);
  readonly #bytes = new Map<NodeId, Buffer>();
  readonly #opened = new Map<number, Opened>();
  #nodes = ROOT + 1;

  /** What is there is taken to be on the disk. */
  constructor(base: string) {
    this.#base = base;
    this.#load(base);
    for (const node of [...this.#bytes.keys(), ...this.#tree.keys()]) this.events.push({ type: "flush", node });
  }

  mark(type: "begun" | "acknowledged"): void {
    this.events.push({ type });
  }

  /** Does a call and records it. */
  readonly judge = (call: TappedCall): unknown => {
    const wasThere = typeof call.args[0] === "string" && this.#find(call.args[0]) !== undefined;
    const made = call.name === "mkdirSync" ? this.#missing(String(call.args[0])) : [];
    const result = call.run();
    this.#record(call, result, wasThere, made);
    return result;
  };

  #record({ name, args }: TappedCall, result: unknown, wasThere: boolean, made: readonly string[]): void {
    const [first, second] = args;
    switch (name) {
      case "openSync":
        return this.#open(String(first), second, Number(result), wasThere);
      case "closeSync":
        return void this.#opened.delete(Number(first));
      case "writeSync":
        return this.#write(args, Number(result));
      case "ftruncateSync":
        return this.#cut(Number(first), Number(second));
      case "fsyncSync":
      case "fdatasyncSync": {
        const node = this.#opened.get(Number(first))?.node;
        // Names may not count as data.
        if (node !== undefined && !(name === "fdatasyncSync" && this.#tree.has(node)))
          this.events.push({ type: "flush", node });
        return;
      }
      case "mkdirSync":
        for (const path of made) this.#name(path, this.#newFolder());
        return;
      case "renameSync":
        return this.#move(String(first), String(second));
      case "linkSync":
        return this.#name(String(second), this.#find(String(first)));
      case "unlinkSync":
      case "rmdirSync":
        return this.#name(String(first), undefined);
      case "rmSync":
        return this.#removeAll(String(first));
      default:
        if (!LOOKS.test(name) && !NO_CONTENT.test(name)) throw new Error(`a power cut at ${name} is not known`);
    }
  }

  #open(path: string, flags: unknown, descriptor: number, wasThere: boolean): void {
    const bits = typeof flags === "number" ? flags : 0;
    if (!wasThere) this.#name(path, this.#newFile());
    const node = this.#find(path) as NodeId;
    if (wasThere && (flags === "w" || (bits & constants.O_TRUNC) !== 0)) this.#change(node, Buffer.alloc(0));
    this.#opened.set(descriptor, { node, appends: (bits & constants.O_APPEND) !== 0 || flags === "a", at: 0 });
  }

  #write([descriptor, given, offset, length, position]: readonly unknown[], taken: number): void {
    const opened = this.#opened.get(Number(descriptor));
    if (!opened) return;
    const whole = typeof given === "string" ? Buffer.from(given, "utf8") : Buffer.from(given as Uint8Array);
    const start = typeof given === "string" ? 0 : Number(offset ?? 0);
    const piece = whole.subarray(
      start,
      start + (typeof given === "string" ? taken : Math.min(taken, Number(length ?? taken))),
    );
    const before = this.#bytes.get(opened.node) as Buffer;
    const at = opened.appends ? before.length : typeof position === "number" ? position : opened.at;
    const after = Buffer.alloc(Math.max(before.length, at + piece.length));
    before.copy(after);
    piece.copy(after, at);
    if (typeof position !== "number") opened.at = at + piece.length;
    this.#change(opened.node, after);
  }

  #cut(descriptor: number, size: number): void {
    const node = this.#opened.get(descriptor)?.node;
    if (node !== undefined) this.#change(node, Buffer.from((this.#bytes.get(node) as Buffer).subarray(0, size)));
  }

  #change(node: NodeId, bytes: Buffer): void {
    this.#bytes.set(node, bytes);
    this.events.push({ type: "bytes", node, bytes });
  }

  #newFile(): NodeId {
    const node = this.#nodes++;
    this.#change(node, Buffer.alloc(0));
    return node;
  }

  #newFolder(): NodeId {
    const node = this.#nodes++;
    this.#tree.set(node, new Map());
    return node;
  }

  #name(path: string, node: NodeId | undefined): void {
    this.#rename([{ ...this.#placeOf(path), node }]);
  }

  #move(from: string, to: string): void {
    const node = this.#find(from);
    this.#rename([
      { ...this.#placeOf(from), node: undefined },
      { ...this.#placeOf(to), node },
    ]);
  }

  #rename(changes: NameChange["changes"]): void {
    apply(this.#tree, changes);
    this.events.push({ type: "names", change: { folders: changes.map(({ folder }) => folder), changes } });
  }

  #removeAll(path: string): void {
    const node = this.#find(path);
    if (node === undefined) return;
    for (const name of [...(this.#tree.get(node)?.keys() ?? [])]) this.#removeAll(join(path, name));
    this.#name(path, undefined);
  }

  #placeOf(path: string): { readonly folder: NodeId; readonly name: string } {
    return { folder: this.#find(dirname(path)) as NodeId, name: basename(path) };
  }

  #find(path: string): NodeId | undefined {
    const below = relative(this.#base, path);
    if (below.startsWith("..")) return undefined;
    let node: NodeId | undefined = ROOT;
    for (const name of below.split(sep).filter(Boolean))
      node = node === undefined ? undefined : this.#tree.get(node)?.get(name);
    return node;
  }

  /** The folders that are not there down to this one, outermost first. */
  #missing(path: string): string[] {
    if (this.#find(path) !== undefined || path.length <= this.#base.length) return [];
    return [...this.#missing(dirname(path)), path];
  }

  #load(folder: string): void {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      const child = entry.isDirectory() ? this.#newFolder() : this.#newFile();
      this.#name(path, child);
      if (entry.isDirectory()) this.#load(path);
      else this.#change(child, readFileSync(path));
    }
  }
}

function apply(tree: Tree, changes: NameChange["changes"]): void {
  for (const { folder, name, node } of changes) {
    const names = tree.get(folder) ?? new Map<string, NodeId>();
    tree.set(folder, names);
    if (node === undefined) names.delete(name);
    else names.set(name, node);
  }
}

/** What was so far when the power went. */
export class PowerCut {
  acknowledged = 0;
  begun = 0;
  /** In order; whether each is on the disk for sure. */
  readonly #changes: { readonly change: NameChange; isFlushed: boolean }[] = [];
  readonly #files = new Map<NodeId, { readonly versions: Buffer[]; flushed: number }>();

  constructor(events: readonly Event[]) {
    for (const event of events) this.#add(event);
  }

  #add(event: Event): void {
    switch (event.type) {
      case "names":
        this.#changes.push({ change: event.change, isFlushed: false });
        return;
      case "bytes": {
        const file = this.#files.get(event.node) ?? { versions: [], flushed: 0 };
        file.versions.push(event.bytes);
        this.#files.set(event.node, file);
        return;
      }
      case "flush": {
        const file = this.#files.get(event.node);
        if (file) file.flushed = file.versions.length - 1;
        for (const each of this.#changes) if (each.change.folders.includes(event.node)) each.isFlushed = true;
        return;
      }
      case "begun":
        this.begun++;
        return;
      case "acknowledged":
        this.acknowledged++;
    }
  }

  /** Changes of names that may be lost. */
  get unsure(): number {
    return this.#changes.filter(({ isFlushed }) => !isFlushed).length;
  }

  /** The disk afterwards, when so many of the unsure changes came through, but none in folders that `loses` names. */
  state(kept: number, fateOf: (node: NodeId) => Fate, loses: (folder: NodeId) => boolean = () => false): DiskState {
    const tree: Tree = new Map();
    const stuck = new Set<NodeId>();
    let left = kept;
    for (const { change, isFlushed } of this.#changes) {
      if (!isFlushed && (left <= 0 || change.folders.some((folder) => stuck.has(folder) || loses(folder)))) {
        for (const folder of change.folders) stuck.add(folder);
        continue;
      }
      if (!isFlushed) left--;
      apply(tree, change.changes);
    }
    const state = new Map<string, Buffer | undefined>();
    this.#collect(tree, ROOT, "", fateOf, state);
    return state;
  }

  #collect(
    tree: Tree,
    folder: NodeId,
    path: string,
    fateOf: (node: NodeId) => Fate,
    state: Map<string, Buffer | undefined>,
  ) {
    for (const [name, node] of tree.get(folder) ?? []) {
      const below = path === "" ? name : `${path}/${name}`;
      const file = this.#files.get(node);
      if (file) state.set(below, left(file, fateOf(node)));
      else {
        state.set(below, undefined);
        this.#collect(tree, node, below, fateOf, state);
      }
    }
  }
}

/** What is left of the bytes of a file. */
function left(
  { versions, flushed }: { readonly versions: readonly Buffer[]; readonly flushed: number },
  fate: Fate,
): Buffer {
  const [sure, last] = [versions[flushed] as Buffer, versions.at(-1) as Buffer];
  if (fate === "lost") return sure;
  if (fate === "kept" || last.length <= sure.length) return last;
  const added = last.length - sure.length;
  if (fate === "half") return last.subarray(0, sure.length + Math.floor(added / 2));
  const zeros = Buffer.from(last);
  return fate === "zeros" ? zeros.fill(0, sure.length) : zeros.fill(0, sure.length, sure.length + Math.ceil(added / 3));
}

/** Puts a state where the run was. */
export function putBack(base: string, state: DiskState): void {
  rmSync(base, { recursive: true, force: true });
  mkdirSync(base);
  for (const [path, bytes] of state) {
    if (bytes === undefined) mkdirSync(join(base, path));
    else writeFileSync(join(base, path), bytes);
  }
}

/** States to look at: all that was unsure lost or kept, up to any point, and `random` others. */
export function* statesOf(
  cut: PowerCut,
  luck: Chance,
  { points, random }: { readonly points: number; readonly random: number },
) {
  for (const fate of FATES) for (const kept of [0, Number.POSITIVE_INFINITY]) yield cut.state(kept, () => fate);
  const { unsure } = cut;
  for (let n = 0; n < Math.min(points, unsure); n++)
    yield cut.state(
      points >= unsure ? n : luck.between(0, unsure),
      () => FATES[luck.between(0, FATES.length - 1)] as Fate,
    );
  for (let n = 0; n < random; n++) {
    const lost = new Map<NodeId, boolean>();
    const loses = (folder: NodeId) => {
      if (!lost.has(folder)) lost.set(folder, luck.between(0, 1) === 0);
      return lost.get(folder) as boolean;
    };
    yield cut.state(luck.between(0, unsure), () => FATES[luck.between(0, FATES.length - 1)] as Fate, loses);
  }
}
