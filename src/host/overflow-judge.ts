// Pi's own judgement of a response, from the Pi that loads this. Loading the extension does not wait for it, and Pi's loader
// has nothing to transform; it is ready before that Pi can be asked for anything.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { callingHost, type HostPackage } from "../packages/host.ts";
import { type IsOverflow, isOverflowMessage } from "./overflow.ts";

function judgeIn(module: unknown): IsOverflow | undefined {
  const isThere = typeof module === "object" && module !== null && "isContextOverflow" in module;
  return isThere && typeof module.isContextOverflow === "function"
    ? (module.isContextOverflow as IsOverflow)
    : undefined;
}

/** Its own file, which needs no other: a Pi that is bundled into one file has not loaded the rest of the library. */
const FILE = join("pi-ai", "dist", "utils", "overflow.js");

function fileOf({ main }: HostPackage): string | undefined {
  for (let folder = dirname(main); dirname(folder) !== folder; folder = dirname(folder)) {
    for (const scope of ["@earendil-works", "@mariozechner"]) {
      const file = join(folder, "node_modules", scope, FILE);
      if (existsSync(file)) return pathToFileURL(file).href;
    }
  }
  return undefined;
}

async function imported(name: string | undefined): Promise<unknown> {
  return name === undefined ? undefined : import(/* @vite-ignore */ name);
}

/**
 * `importLibrary` imports pi-ai by its name; given where the loader knows that name: Node by itself may find another Pi's.
 * Call it while the host loads the extension.
 */
export function overflowJudge(importLibrary?: () => Promise<unknown>): IsOverflow {
  let judge = isOverflowMessage;
  const host = callingHost();
  const found = importLibrary ? importLibrary() : imported(host && fileOf(host));
  found.then(
    (module) => {
      judge = judgeIn(module) ?? judge;
    },
    // Without it, the words that refusals have in common decide.
    () => undefined,
  );
  return (message, contextWindow) => judge(message, contextWindow);
}
