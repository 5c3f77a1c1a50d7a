// What Pi loads. In a checkout it runs the sources, through Pi's own TypeScript loader; in the published package the
// core of the packed form, which Node loads once per process. It decides nothing but whether a checkout is ready: sources
// whose libraries are missing would load, and fail with the first note.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
const isCheckout = existsSync(new URL("./src/index.ts", import.meta.url));

/** A name that Pi's loader knows; plain Node finds nothing by it, or what another Pi has installed. */
const importLibrary = () => import("@mariozechner/pi-ai");
/** That loader runs what it transforms as CommonJS; what Node loads has no such name. */
const isTransformed = typeof module !== "undefined";

/** The libraries of the sources that are not installed. */
function missingLibraries() {
  const { dependencies } = JSON.parse(readFileSync(new URL("./package.json", import.meta.url), "utf8"));
  return Object.keys(dependencies).filter((name) => {
    try {
      require.resolve(name);
      return false;
    } catch {
      return true;
    }
  });
}

function notReady(missing) {
  return () => {
    const folder = fileURLToPath(new URL(".", import.meta.url)).replace(/[/\\]$/, "");
    const reason = `this checkout has no ${missing.join(" and no ")} yet`;
    throw new Error(
      `pi-token-budget is not loaded: ${reason}. Run \`npm ci --omit=dev\` in ${folder}, then start Pi again.`,
    );
  };
}

/** The judgement of a response is that of the Pi which loads this, so it is looked for when that Pi calls. */
const made =
  ({ createTokenBudgetExtension, overflowJudge }) =>
  (pi) =>
    createTokenBudgetExtension({ isContextOverflow: overflowJudge(isTransformed ? importLibrary : undefined) })(pi);

async function sources() {
  const missing = missingLibraries();
  if (missing.length > 0) return notReady(missing);
  // Where plain Node cannot import all of this, the module fails to load natively as a whole, and Pi's loader then runs it
  // through its own transformer and its own names for Pi's packages: sources that are worked on are read anew.
  await importLibrary();
  return made(await import("./src/index.ts"));
}

export default isCheckout ? await sources() : made(require("./dist/core.cjs"));
