// Where pi-subagents is, and how its export for required child extensions is loaded. No path is hard-wired: it is found
// from the files its tools come from, or from where a person or a launcher says it is. Nothing is registered here.

import { createRequire } from "node:module";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type FoundPackage, isFile, packageOf } from "../packages/found.ts";
import { isRecord } from "../shapes.ts";
import { codeOf } from "../storage/disk.ts";

export const SUBAGENTS_NAME = "pi-subagents";
export const REQUIRED_EXPORT = "./required-child-extensions";
/** The first version with that export. */
export const FIRST_WITH_EXPORT = "0.68.0";

export const MODULE_VARIABLE = "PI_TOKEN_BUDGET_SUBAGENTS_MODULE";

/** A tool of the session, as Pi lists it. */
export interface ToolSource {
  readonly name: string;
  readonly sourceInfo?: { readonly path?: string };
}

export interface DiscoveryInputs {
  readonly tools: readonly ToolSource[];
  /** A module or a package directory, of the launcher's options. */
  readonly modulePath: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export type Discovery =
  /** The session has no pi-subagents. */
  | { readonly type: "absent" }
  /** The place that was named does not have it. */
  | { readonly type: "wrong_place"; readonly named: string; readonly path: string; readonly reason: string }
  | { readonly type: "no_export"; readonly found: FoundPackage }
  | { readonly type: "module"; readonly path: string };

export function discover({ tools, modulePath, env }: DiscoveryInputs): Discovery {
  if (modulePath !== undefined) return atPlace("the option subagents.modulePath", modulePath);
  const variable = env[MODULE_VARIABLE];
  if (variable !== undefined && variable !== "") return atPlace(MODULE_VARIABLE, variable);
  const folders = new Set<string>();
  for (const { sourceInfo } of tools) {
    // Tools of Pi itself and of launchers have no file.
    if (sourceInfo?.path !== undefined && isAbsolute(sourceInfo.path)) folders.add(dirname(sourceInfo.path));
  }
  for (const folder of folders) {
    const found = packageOf(folder);
    if (found?.name === SUBAGENTS_NAME) return inPackage(found);
  }
  return { type: "absent" };
}

/** The tools of a session that pi-subagents has registered. */
export function subagentTools(tools: readonly ToolSource[]): ReadonlySet<string> {
  const isFrom = ({ sourceInfo }: ToolSource) =>
    sourceInfo?.path !== undefined && packageOf(dirname(sourceInfo.path))?.name === SUBAGENTS_NAME;
  return new Set(tools.filter(isFrom).map(({ name }) => name));
}

function atPlace(named: string, place: string): Discovery {
  const path = place.startsWith("file:") ? fileURLToPath(place) : resolve(place);
  if (isFile(path)) return { type: "module", path };
  const found = packageOf(path);
  if (found?.root !== path) return { type: "wrong_place", named, path, reason: "no module and no package is there" };
  if (found.name === SUBAGENTS_NAME) return inPackage(found);
  return { type: "wrong_place", named, path, reason: `the package there is ${found.name}` };
}

function inPackage(found: FoundPackage): Discovery {
  const exports = isRecord(found.exports) ? found.exports : {};
  const target = exportTarget(exports[REQUIRED_EXPORT]);
  return target === undefined ? { type: "no_export", found } : { type: "module", path: join(found.root, target) };
}

const CONDITIONS: ReadonlySet<string> = new Set(["node", "import", "module-sync", "default"]);

/** The file of an export: conditions count in the order they are written in. */
function exportTarget(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (!isRecord(value)) return undefined;
  for (const [condition, target] of Object.entries(value)) {
    const found = CONDITIONS.has(condition) ? exportTarget(target) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Plain Node refuses TypeScript below node_modules, or everywhere. */
const NEEDS_A_LOADER: ReadonlySet<string | undefined> = new Set([
  "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING",
  "ERR_UNKNOWN_FILE_EXTENSION",
]);

/** What is used of the loader that pi-subagents depends on. */
interface JitiModule {
  createJiti(from: string): { import(path: string): Promise<unknown> };
}

/** Imports a module of pi-subagents, by its own TypeScript loader where this process has none. */
export async function loadModule(path: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(path).href)) as Record<string, unknown>;
  } catch (error) {
    if (!NEEDS_A_LOADER.has(codeOf(error))) throw error;
    const { createJiti } = createRequire(path)("jiti") as JitiModule;
    return (await createJiti(path).import(path)) as Record<string, unknown>;
  }
}
