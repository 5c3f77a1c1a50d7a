// A child's text without the paths of our storage: files are named as the person knows them. Only paths that are really of
// this task are rewritten; whatever else looks like one stays as it was written. Pure.

export interface InternalPaths {
  /** Absolute directories of ours, the longer first. */
  readonly directories: readonly string[];
  /** Path from the working directory to the task's folders: empty, or with a slash at its end. */
  readonly prefix: string;
  /** The task's own files, by their paths below its folders, and what each is called outside. */
  readonly names: ReadonlyMap<string, string>;
}

/** Characters that would continue a path, so that it is another one. */
const NO_MORE_PATH = "(?![\\w-]|\\.\\w)";
/** In front of a name that follows: one of the task's folders. */
const OWN_FOLDER = "(?:(?:(?:output|work)/|attachments/[a-z0-9]{8}/\\d{2}-)(?=[\\p{L}\\p{N}_]))?";

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

export function withoutInternalPaths(text: string, { directories, prefix, names }: InternalPaths): string {
  let clean = text;
  for (const directory of directories) {
    clean = clean
      .replace(new RegExp(`${escaped(directory)}/${OWN_FOLDER}`, "gu"), "")
      .replace(new RegExp(`${escaped(directory)}${NO_MORE_PATH}`, "g"), "the working directory");
  }
  // It holds the id of the task, so nothing else begins like this.
  if (prefix !== "") return clean.replace(new RegExp(`(?:\\./)?${escaped(prefix)}${OWN_FOLDER}`, "gu"), "");
  return withoutFolders(clean, names);
}

/** A step with the task's files as its child sees them: by their paths below the task's folders. */
export function withoutTaskFolder(text: string, { directories, prefix }: Omit<InternalPaths, "names">): string {
  let clean = text;
  for (const directory of directories)
    clean = clean.replaceAll(`${directory}/`, "").replace(new RegExp(`${escaped(directory)}${NO_MORE_PATH}`, "g"), ".");
  return prefix === "" ? clean : clean.replaceAll(`./${prefix}`, "").replaceAll(prefix, "");
}

/** Of the task's own files, named relative to its directory. */
function withoutFolders(text: string, names: ReadonlyMap<string, string>): string {
  if (names.size === 0) return text;
  const longestFirst = [...names.keys()].sort((a, b) => b.length - a.length);
  const any = longestFirst.map(escaped).join("|");
  const path = new RegExp(`(?<![\\w./\\\\-])(?:\\./)?(${any})(?![\\w/-]|\\.\\w)`, "g");
  return text.replace(path, (_whole, found: string) => names.get(found) ?? found);
}
