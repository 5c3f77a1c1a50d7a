// Makes the parts of the documents that code already knows: `node --import tsx .ci/docs/generate.ts` writes them, and a
// unit test (test/demo/docs.test.ts) fails when what is committed differs.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { commandsPage, commandsTable } from "./commands.ts";
import { compactionTable, speedTable, tokenTable } from "./measured.ts";
import { settingsPage, settingsTable } from "./settings.ts";
import { stateDiagram } from "./states.ts";
import { toolsPage, toolsTable } from "./tools.ts";

const ROOT = new URL("../../", import.meta.url);

/** Documents that are made whole. */
const PAGES: Readonly<Record<string, () => string>> = {
  "docs/commands.md": commandsPage,
  "docs/tools.md": toolsPage,
  "docs/settings.md": settingsPage,
  "docs/state-diagram.md": stateDiagram,
};

/** Parts of documents written by hand, between `<!-- generated: name -->` and `<!-- end -->`. */
const PARTS: Readonly<Record<string, () => string>> = {
  commands: commandsTable,
  tools: toolsTable,
  settings: settingsTable,
  compaction: compactionTable,
  tokens: tokenTable,
  speed: speedTable,
};
const WITH_PARTS = ["README.md", "docs/performance.md"];

const PART = /(<!-- generated: (\w+) -->)[\s\S]*?(<!-- end -->)/g;

function withParts(document: string): string {
  return document.replace(PART, (_whole, start: string, name: string, end: string) => {
    const make = PARTS[name];
    if (!make) throw new Error(`no part is called ${name}`);
    return `${start}\n\n${make()}\n\n${end}`;
  });
}

export function committed(path: string): string {
  return readFileSync(new URL(path, ROOT), "utf8");
}

/** Every document as it should be, by path. */
export function documents(): ReadonlyMap<string, string> {
  const made = new Map(Object.entries(PAGES).map(([path, make]) => [path, make()]));
  for (const path of WITH_PARTS) made.set(path, withParts(committed(path)));
  return made;
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const [path, text] of documents()) writeFileSync(new URL(path, ROOT), text);
