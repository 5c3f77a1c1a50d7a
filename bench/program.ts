// Where start.mjs puts the programs of children/.
import { fileURLToPath } from "node:url";

const BUILT = new URL("../node_modules/.cache/pi-token-budget-bench/children/", import.meta.url);

/** The path of one, as plain JavaScript. */
export function program(name: "holder" | "noting" | "opening" | "remembering"): string {
  return fileURLToPath(new URL(`${name}.mjs`, BUILT));
}
