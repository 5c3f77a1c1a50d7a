// The plain files behind one agent's notes: where a note lies, what it holds, and which notes there are. It reads
// only, and every error names the obstacle by the path the model knows.
import { join } from "node:path";
import { messageOf, shownValue, TokenBudgetError } from "../errors.ts";
import { similarNames } from "../similar.ts";
import { type DiskCalls, NODE_DISK, storageFailure } from "../storage/disk.ts";
import { type PlainFile, readPlainFile } from "../storage/plain-file.ts";
import { atOnce } from "../storage/slices.ts";
import { type FoundFile, type LeftOut, locate, type Place, walkingPlainFiles } from "../storage/tree.ts";
import { fullPath, notePathProblem } from "./paths.ts";

/** A path that is not there is answered with so many that look like it. */
const SIMILAR_PATHS_MAX = 5;

type Obstacle = Exclude<Place, { readonly type: "file" | "missing" }>;

function obstacleError(shown: string, path: string, obstacle: Obstacle): TokenBudgetError {
  switch (obstacle.type) {
    case "directory": {
      const wayOut = `Name a note in it: list the prefix ${shownValue(`${path}/`)}.`;
      return new TokenBudgetError("invalid_path", `${shown} is a directory of notes. ${wayOut}`);
    }
    case "below_file": {
      const reason = `${shownValue(obstacle.at)} is a note, not a directory`;
      return new TokenBudgetError("invalid_path", `${shown} cannot be there: ${reason}. Use another path.`);
    }
    case "collision": {
      const reason = `this disk does not tell ${shownValue(obstacle.at)} from the existing ${shownValue(obstacle.existing)}`;
      return new TokenBudgetError(
        "name_collision",
        `${shown} cannot be used: ${reason}. Use that spelling, or another name.`,
      );
    }
    case "link":
    case "special": {
      const what = obstacle.at === "" ? "the directory of these notes" : shownValue(obstacle.at);
      const kind = obstacle.type === "link" ? "a symbolic link" : "neither a plain file nor a directory";
      return new TokenBudgetError("refused", `${shown} is out of reach: ${what} is ${kind}. Use another path.`);
    }
  }
}

/** Plain files whose path begins with a prefix, and what was left out of them. */
export interface NoteWalk {
  readonly files: FoundFile[];
  readonly leftOut: LeftOut[];
}

export interface NoteFilesOptions {
  /** Absolute path of the directory that holds the notes; made with the first write. */
  readonly root: string;
  /** Address of the agent whose notes they are: errors name notes by their full path. */
  readonly agent: string;
  /** What lists the notes, as an error names it to its reader; default: the tool. */
  readonly lister?: string;
  readonly disk?: DiskCalls;
}

export class NoteFiles {
  readonly root: string;
  readonly agent: string;
  readonly #lister: string;
  readonly #disk: DiskCalls;

  constructor({ root, agent, lister = "notes_list_files_by_prefix", disk = NODE_DISK }: NoteFilesOptions) {
    this.root = root;
    this.agent = agent;
    this.#lister = lister;
    this.#disk = disk;
  }

  /** A note as the subject of a sentence in an error. */
  shown(path: string): string {
    return `The note ${shownValue(fullPath(this.agent, path))}`;
  }

  assertPath(path: string): void {
    const problem = notePathProblem(path);
    if (problem === undefined) return;
    throw new TokenBudgetError("invalid_path", `${this.shown(path)} has no valid path: ${problem}. Use another path.`);
  }

  /** The file of a note; undefined when there is none. Throws when something else is in its place. */
  find(path: string): string | undefined {
    this.assertPath(path);
    let place: Place;
    try {
      place = locate(this.#disk, this.root, path);
    } catch (error) {
      throw storageFailure(error, { shown: this.shown(path), doing: "read" });
    }
    if (place.type === "missing") return undefined;
    if (place.type === "file") return place.file;
    throw obstacleError(this.shown(path), path, place);
  }

  read(path: string): PlainFile {
    const file = this.find(path);
    const content = file === undefined ? undefined : readPlainFile(this.#disk, file, this.shown(path));
    if (content === undefined) throw this.#notFound(path);
    return content;
  }

  /** A note that a walk just found; undefined when it is gone or, with a line in `leftOut`, cannot be read. */
  readFound({ path }: FoundFile, leftOut: LeftOut[]): PlainFile | undefined {
    try {
      return readPlainFile(this.#disk, join(this.root, path), this.shown(path));
    } catch (error) {
      leftOut.push({ path, reason: messageOf(error) });
      return undefined;
    }
  }

  /** The notes whose path begins with the prefix, in no order. */
  walk(prefix: string): NoteWalk {
    return atOnce(this.walking(prefix));
  }

  /** The same, with a pause behind every file. */
  *walking(prefix: string): Generator<void, NoteWalk> {
    try {
      const { files, leftOut } = yield* walkingPlainFiles(this.#disk, this.root, (directory) => {
        const below = `${directory}/`;
        return below.startsWith(prefix) || prefix.startsWith(below);
      });
      const wanted = files.filter(({ path }) => path.startsWith(prefix));
      const notes = wanted.filter(({ path }) => {
        const problem = notePathProblem(path);
        if (problem !== undefined) leftOut.push({ path: path.toWellFormed(), reason: `not a note: ${problem}` });
        return problem === undefined;
      });
      return { files: notes, leftOut };
    } catch (error) {
      throw storageFailure(error, { shown: `The directory of the notes of ${this.agent}`, doing: "listed" });
    }
  }

  #notFound(path: string): TokenBudgetError {
    const similar = similarNames(path, this.#allPaths(), SIMILAR_PATHS_MAX);
    const shown = similar.map((other) => shownValue(fullPath(this.agent, other)));
    const wayOut = shown.length > 0 ? `There is ${shown.join(", ")}.` : `${this.#lister} lists the notes there are.`;
    return new TokenBudgetError("not_found", `${this.shown(path)} does not exist. ${wayOut}`);
  }

  #allPaths(): string[] {
    try {
      return this.walk("").files.map(({ path }) => path);
    } catch {
      // The names are only a help; the note was not found either way.
      return [];
    }
  }
}
