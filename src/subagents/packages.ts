// Packages on disk, as seen from a file inside them: this package's own place, and that of a tool's package.
import { dirname, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import { NODE_DISK } from "../storage/disk.ts";

export interface FoundPackage {
  /** Absolute path of its folder. */
  readonly root: string;
  readonly name: string;
  readonly version: string;
  /** The `exports` of its package.json, unchecked. */
  readonly exports: unknown;
}

function parsedManifest(folder: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(NODE_DISK.readFileSync(join(folder, "package.json"), "utf8"));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    // No package.json, or none that anybody could use: the package is further up.
    return undefined;
  }
}

/** The package that a folder belongs to: the nearest package.json with a name, upwards. */
export function packageOf(folder: string): FoundPackage | undefined {
  if (!isAbsolute(folder)) return undefined;
  for (let at = folder; ; at = dirname(at)) {
    const manifest = parsedManifest(at);
    if (typeof manifest?.name === "string") {
      const { name, version, exports } = manifest;
      return { root: at, name, version: typeof version === "string" ? version : "unknown", exports };
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

export const OWN_NAME = "pi-token-budget";

export interface OwnPackage {
  readonly root: string;
  readonly version: string;
  /** The module with the launcher API: the sources in a checkout, the built form otherwise. */
  readonly api: string;
}

/** This package; undefined when it was built into another program and has no place of its own. */
export function ownPackage(from: string = import.meta.url): OwnPackage | undefined {
  const found = packageOf(dirname(fileURLToPath(from)));
  if (found?.name !== OWN_NAME) return undefined;
  const { root, version } = found;
  const isCheckout = isFile(join(root, "src", "index.ts"));
  return { root, version, api: isCheckout ? join(root, "api.ts") : join(root, "dist", "api.js") };
}
