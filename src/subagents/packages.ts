// Packages on disk, as seen from a file inside them: this package's own place, and that of a tool's package.
import { dirname, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { shownValue, TokenBudgetError } from "../errors.ts";
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
export function ownPackage(from: string | undefined = import.meta.url): OwnPackage | undefined {
  if (from === undefined) return undefined;
  const found = packageOf(dirname(fileURLToPath(from)));
  if (found?.name !== OWN_NAME) return undefined;
  return placed(found);
}

function placed({ root, version }: FoundPackage): OwnPackage {
  const isCheckout = isFile(join(root, "src", "index.ts"));
  return { root, version, api: isCheckout ? join(root, "api.ts") : join(root, "dist", "api.js") };
}

/** This package where a program says it is, or where it runs from; children load it from there. */
export function neededPackage(directory: string | undefined): OwnPackage {
  if (directory === undefined) {
    const own = ownPackage();
    if (own) return own;
    throw new TokenBudgetError(
      "missing_field",
      `packageDirectory is missing: children load ${OWN_NAME} from its own files, and this copy was bundled into another program. Give the absolute path of the folder of the installed ${OWN_NAME}, such as dirname(require.resolve("${OWN_NAME}/package.json")).`,
    );
  }
  const found = packageOf(directory);
  if (found?.name === OWN_NAME && found.root === resolve(directory)) return placed(found);
  throw new TokenBudgetError(
    "invalid_argument",
    `packageDirectory is ${shownValue(directory)}; it must be the absolute path of the folder of ${OWN_NAME}, in which its package.json lies.`,
  );
}
