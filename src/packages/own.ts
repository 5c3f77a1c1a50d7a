// This package's own place on disk, from which children load it.
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { shownValue, TokenBudgetError } from "../errors.ts";
import { type FoundPackage, isFile, packageOf } from "./found.ts";

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
