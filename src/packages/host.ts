// Which Pi is installed here and runs this: by the script of the process, or by the files in a call's stack.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { NODE_DISK } from "../storage/disk.ts";
import { type FoundPackage, packageOf } from "./found.ts";

/** The names of a host's package, the older one first. */
export const HOST_PACKAGES = ["@mariozechner/pi-coding-agent", "@earendil-works/pi-coding-agent"] as const;

export interface HostPackage {
  /** The file it was found by, its real path. */
  readonly file: string;
  /** Its main module. */
  readonly main: string;
  readonly found: FoundPackage;
}

/** The host that a file belongs to; undefined when it is no host's. */
function hostOf(path: string): HostPackage | undefined {
  try {
    const file = NODE_DISK.realpathSync(path);
    const found = packageOf(dirname(file));
    if (!found || !(HOST_PACKAGES as readonly string[]).includes(found.name)) return undefined;
    return { file, main: join(found.root, typeof found.main === "string" ? found.main : "dist/index.js"), found };
  } catch {
    // No such file: it is no host's.
    return undefined;
  }
}

/** The host whose command line this process runs; undefined in any other program, and in a compiled one. */
export function runningHost(script: string | undefined = process.argv[1]): HostPackage | undefined {
  return script === undefined ? undefined : hostOf(script);
}

const STACK_FRAMES = 60;
/** Frames name the compiled files, or with source maps the sources, which are not there. */
const HOST_FOLDER = /((?:file:\/\/)?[^\s()]*[\\/]pi-coding-agent)[\\/](?:dist|src)[\\/]/;

/** The host that calls this, by its own files in the stack: several may be installed, and one of them runs the session. */
export function callingHost(): HostPackage | undefined {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = STACK_FRAMES;
  const stack = new Error().stack ?? "";
  Error.stackTraceLimit = limit;
  const folder = HOST_FOLDER.exec(stack)?.[1];
  if (folder === undefined) return undefined;
  return hostOf(join(folder.startsWith("file:") ? fileURLToPath(folder) : folder, "package.json"));
}

/** How Pi is started as a child process: the host that runs us, with the same Node; elsewhere `pi`, as the shell finds it. */
export function piCommand(): readonly string[] {
  const running = runningHost();
  return running ? [process.execPath, running.file] : ["pi"];
}

/** A word for a shell: bare where that is safe, else in single quotes. */
function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** The command to continue in a fork of this session. */
export function forkCommand(sessionFile: string): string {
  return `pi --fork ${shellWord(sessionFile)}`;
}
