// Tools by name, each made once for all the items of a branch. Session files are not validated, so names are bounded.
import { type KnownTool, knownTool } from "./item.ts";

const KEPT_MAX = 1_000;

export class KnownTools {
  readonly #kept = new Map<string, KnownTool>();

  readonly named = (name: string): KnownTool => {
    const known = this.#kept.get(name);
    if (known) return known;
    const made = knownTool(name);
    if (this.#kept.size < KEPT_MAX) this.#kept.set(name, made);
    return made;
  };
}
