// Pi's own judgement of a response, from the very Pi that loads this: no import of the extension waits for it, and Pi's
// loader has nothing to transform. What that Pi has loaded already is there before it can be asked for anything.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { type IsOverflow, isOverflowMessage } from "./overflow.ts";
import { callingHost, type HostPackage } from "./package.ts";

function judgeIn(module: unknown): IsOverflow | undefined {
  const isThere = typeof module === "object" && module !== null && "isContextOverflow" in module;
  return isThere && typeof module.isContextOverflow === "function"
    ? (module.isContextOverflow as IsOverflow)
    : undefined;
}

/** The module of pi-ai that a host has loaded; undefined where it lies elsewhere, as in a host that is one file. */
function modelLibrary({ main }: HostPackage): string | undefined {
  for (let folder = dirname(main); dirname(folder) !== folder; folder = dirname(folder)) {
    for (const scope of ["@earendil-works", "@mariozechner"]) {
      const file = join(folder, "node_modules", scope, "pi-ai", "dist", "index.js");
      if (existsSync(file)) return pathToFileURL(file).href;
    }
  }
  return undefined;
}

/** A loader that knows the name hands out the module that is in use, also where that is no file of its own. */
async function found(host: HostPackage | undefined, importIt: () => Promise<unknown>): Promise<IsOverflow | undefined> {
  const named = judgeIn(await importIt().catch(() => undefined));
  const file = named === undefined && host ? modelLibrary(host) : undefined;
  return file === undefined ? named : judgeIn(await import(/* @vite-ignore */ file));
}

/** `importIt` imports pi-ai by its name, where the loader knows that name. Call it while the host loads the extension. */
export function overflowJudge(importIt: () => Promise<unknown>): IsOverflow {
  let judge = isOverflowMessage;
  found(callingHost(), importIt).then(
    (own) => {
      judge = own ?? judge;
    },
    // Without it there are the usual words.
    () => undefined,
  );
  return (message, contextWindow) => judge(message, contextWindow);
}
