// Where the program that runs lies, as the command line started it.
import { realpathSync } from "node:fs";
import { dirname } from "node:path";

/** The folder of the started script; undefined when there is none, as in a compiled program. */
export function programFolder(argv: readonly string[] = process.argv): string | undefined {
  try {
    return argv[1] === undefined ? undefined : dirname(realpathSync(argv[1]));
  } catch {
    return undefined;
  }
}
