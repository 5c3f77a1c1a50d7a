// What Pi loads. In a checkout it runs the sources, through Pi's own TypeScript loader; in the published package the
// bundle, which Node loads once per process. It hands over what only Pi's loader can import, and decides nothing else.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { isContextOverflow } from "@mariozechner/pi-ai";

// At the top level on purpose: where plain Node cannot import all of this, the module fails to load natively as a
// whole, and Pi's loader then runs it through its own transformer and its own names for Pi's packages.
const core = existsSync(new URL("./src/index.ts", import.meta.url))
  ? await import("./src/index.ts")
  : createRequire(import.meta.url)("./dist/core.cjs");

export default core.createTokenBudgetExtension({ isContextOverflow });
