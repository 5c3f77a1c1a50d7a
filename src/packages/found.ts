// Packages on disk, found from a file or folder inside them.
import { dirname, isAbsolute, join } from "node:path";
import { isRecord } from "../shapes.ts";
import { NODE_DISK } from "../storage/disk.ts";

export interface FoundPackage {
  /** Absolute path of its folder. */
  readonly root: string;
  readonly name: string;
  readonly version: string;
  /** The `main` and `exports` of its package.json, unchecked. */
  readonly main: unknown;
  readonly exports: unknown;
}

function parsedManifest(folder: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(NODE_DISK.readFileSync(join(folder, "package.json"), "utf8"));
    return isRecord(value) ? value : undefined;
  } catch {
    // No package.json, or none that can be used: the package is further up.
    return undefined;
  }
}

/** The package that a folder belongs to: the nearest package.json with a name, upwards. */
export function packageOf(folder: string): FoundPackage | undefined {
  if (!isAbsolute(folder)) return undefined;
  for (let at = folder; ; at = dirname(at)) {
    const manifest = parsedManifest(at);
    if (typeof manifest?.name === "string") {
      const { name, version, main, exports } = manifest;
      return { root: at, name, version: typeof version === "string" ? version : "unknown", main, exports };
    }
    if (dirname(at) === at) return undefined;
  }
}

export function isFile(path: string): boolean {
  try {
    // A link counts as what it leads to, which the open decides.
    const descriptor = NODE_DISK.openSync(path, "r");
    try {
      return NODE_DISK.fstatSync(descriptor).isFile();
    } finally {
      NODE_DISK.closeSync(descriptor);
    }
  } catch {
    return false;
  }
}
