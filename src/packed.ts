// How the packed form reads its parts (.ci/parts.mjs); a checkout has none and never gets here. The file names of parts hold
// the name of their build: when the package is updated or removed under a running process, its parts are gone, and those of
// another build are not taken for them.
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { messageOf, TokenBudgetError } from "./errors.ts";

/** The sources of a part, by their paths. */
export type Part = Readonly<Record<string, unknown>>;

declare const __requirePart: (name: string) => { readonly modules: Part };

/** The message for files that are no longer there. */
const GONE = new Set(["MODULE_NOT_FOUND", "ENOENT", "ENOTDIR"]);

/** @throws TokenBudgetError `package_changed`: the files of this build are gone. */
export function part(name: string): Part {
  try {
    return __requirePart(name).modules;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && GONE.has(String(error.code)))) throw error;
    const folder = dirname(fileURLToPath(import.meta.url));
    throw new TokenBudgetError(
      "package_changed",
      `pi-token-budget was updated or removed while this program runs: the part "${name}" of the version that runs is no longer in ${folder}. Restart Pi, or the program that uses the package, to go on with what is installed now; nothing is lost.`,
      { cause: messageOf(error) },
    );
  }
}
