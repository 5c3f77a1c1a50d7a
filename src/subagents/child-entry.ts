// The extension file that children of a root task load: generated text that imports this package by absolute path and
// carries the task. A launcher refuses a child whose extension fails, so the text must never throw, only report.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { TokenBudgetError } from "../errors.ts";
import type { Membership } from "../host/copies.ts";
import { neededPackage, type OwnPackage } from "../packages/own.ts";
import { replaceFile } from "../storage/atomic-file.ts";
import { type DiskCalls, ensurePrivateDirectory, NODE_DISK, storageFailure } from "../storage/disk.ts";
import { readPlainFile } from "../storage/plain-file.ts";
import { type ChildPlace, parseMembership } from "../task/context.ts";
import { hashedName } from "../task/layout.ts";
import type { SessionTask } from "../task/membership.ts";

export const CHILD_ENTRY_FILE = "child-extension.ts";

/** The newest format this code writes; it is in the first line. */
const FORMAT = 1;
const FIRST_LINE = /^\/\/ pi-token-budget child entry, format (\d+)\./;

const WRITTEN_AT_START = "Start the root session again, which writes this file again, or put the package back.";
const WRITTEN_ON_DEMAND = "Have your launcher write it again, or put the package back.";

/** Text of the entry. It is plain JavaScript, so that every loader takes it, and imports nothing before it is called. */
export function childEntryText(
  own: Pick<OwnPackage, "root" | "api">,
  task: Membership,
  madeAnew: string = WRITTEN_AT_START,
): string {
  // JSON in a string, parsed: as a literal, a key like __proto__ would mean something else.
  const taskText = JSON.stringify(JSON.stringify(task));
  return `// pi-token-budget child entry, format ${FORMAT}. Generated for the children of one root task: do not edit.
// Load it in each child (\`pi -e <this file>\`, or a launcher's list of extensions). ${madeAnew}
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const PACKAGE = ${JSON.stringify(own.root)};
const API = ${JSON.stringify(pathToFileURL(own.api).href)};
const TASK = JSON.parse(${taskText});

// A child is refused when its extension throws: whatever is wrong is shown once and the child runs without.
function report(pi, problem) {
  const text = \`pi-token-budget: this child runs without its context windows and its task's notes: \${problem}\`;
  try {
    pi.on("session_start", (_event, ctx) => {
      try {
        if (ctx.hasUI) ctx.ui.notify(text, "warning");
        else process.stderr.write(\`\${text}\\n\`);
      } catch {}
    });
  } catch {}
}

// What only Pi's own loader can import; without it the package has other ways.
async function ofThisPi() {
  try {
    const { isContextOverflow } = await import("@mariozechner/pi-ai");
    return isContextOverflow ? { isContextOverflow } : {};
  } catch {
    return {};
  }
}

export default async function childEntry(pi) {
  try {
    if (!existsSync(fileURLToPath(API))) {
      const wayOut = ${JSON.stringify(madeAnew)};
      report(pi, \`the package is no longer in \${PACKAGE}. \${wayOut}\`);
      return;
    }
    const { createTokenBudgetExtension } = await import(API);
    await createTokenBudgetExtension({ task: TASK, ...(await ofThisPi()) })(pi);
  } catch (error) {
    report(pi, error instanceof Error ? error.message : String(error));
  }
}
`;
}

export interface ChildEntryPlace {
  /** Absolute path of the task's directory. */
  readonly directory: string;
  /** Default: the entry of the automatic children. */
  readonly file?: string;
  /** Says who writes the file again; default: the start of the root session. */
  readonly madeAnew?: string;
  /** On the same file system; default: a folder of the task's directory. */
  readonly temporaryDirectory?: string;
  readonly disk?: DiskCalls;
}

/** Writes the entry unless the same text is there. Returns its absolute path. */
export async function writeChildEntry(
  place: ChildEntryPlace,
  own: Pick<OwnPackage, "root" | "api">,
  task: Membership,
): Promise<string> {
  const { directory, disk = NODE_DISK } = place;
  const path = join(directory, place.file ?? CHILD_ENTRY_FILE);
  const shown = `The children's entry ${path}`;
  const content = Buffer.from(childEntryText(own, task, place.madeAnew), "utf8");
  if (isWritten(disk, path, shown, content)) return path;
  try {
    ensurePrivateDirectory(disk, directory);
  } catch (error) {
    throw storageFailure(error, { shown, doing: "written" });
  }
  // No lock: every process of the task writes the same text, whole, and a reader sees one or the other.
  const temporaries = { directory: place.temporaryDirectory ?? join(directory, "tmp"), prefix: "child-entry" };
  replaceFile({ target: path, content, shown }, temporaries, { disk });
  return path;
}

export interface TaskEntryOptions {
  readonly packageDirectory?: string | undefined;
  /** For one child with a place of its own; default: for the automatic children. */
  readonly child?: ChildPlace | undefined;
}

/** The entry for children of a root task, below `agent` where their place says nothing else. */
export async function writeTaskEntry(
  { context, registry, agent }: Pick<SessionTask, "context" | "registry" | "agent">,
  { packageDirectory, child }: TaskEntryOptions = {},
): Promise<string> {
  const { directory } = registry.layout;
  const membership = child && parseMembership({ ...context, parentAgentName: agent, ...child });
  const own = neededPackage(packageDirectory);
  if (membership === undefined) return writeChildEntry({ directory }, own, { ...context });
  // One file for each place: a launcher may start several children at once.
  const file = `child-extension-${hashedName(JSON.stringify(membership))}.ts`;
  return writeChildEntry({ directory, file, madeAnew: WRITTEN_ON_DEMAND }, own, { ...membership });
}

/** A damaged text is replaced: all of it is known here. One of a newer format is left alone. */
function isWritten(disk: DiskCalls, path: string, shown: string, content: Buffer): boolean {
  const present = readPlainFile(disk, path, shown);
  if (present === undefined) return false;
  const format = Number(FIRST_LINE.exec(present.bytes.toString("utf8"))?.[1] ?? FORMAT);
  if (format > FORMAT) {
    throw new TokenBudgetError(
      "newer_format",
      `${shown} has format ${format}, and this version of pi-token-budget writes ${FORMAT}. ` +
        "Update pi-token-budget; the file is left as it is.",
    );
  }
  return present.bytes.equals(content);
}
