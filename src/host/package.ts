// Which host this is: its package, by the program that runs or by the files that call.
import { readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const HOST_PACKAGES = ["@mariozechner/pi-coding-agent", "@earendil-works/pi-coding-agent"] as const;

/** A host's package, as seen from one of its files. */
export interface HostPackage {
  /** The file itself, its real path. */
  readonly file: string;
  /** Its main module. */
  readonly main: string;
}

/** The host that a file belongs to; undefined when it is no host's. */
function hostOf(path: string): HostPackage | undefined {
  try {
    const file = realpathSync(path);
    for (let folder = dirname(file); dirname(folder) !== folder; folder = dirname(folder)) {
      const manifest = manifestOf(folder);
      if (manifest === undefined) continue;
      if (!(HOST_PACKAGES as readonly string[]).includes(String(manifest.name))) return undefined;
      return { file, main: join(folder, typeof manifest.main === "string" ? manifest.main : "dist/index.js") };
    }
  } catch {
    // No such file: it is no host's.
  }
  return undefined;
}

/** The host whose command line this process runs; undefined in any other program. */
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

function manifestOf(folder: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
