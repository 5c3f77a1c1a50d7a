// The doctor's checks. Each returns what it found and never throws. None changes anything but the journal, which is brought
// up to the log first. What can be tried is tried.
import { randomUUID } from "node:crypto";
import { messageOf } from "../errors.ts";
import { counted, grouped } from "../figures.ts";
import type { NotesStore } from "../notes/store.ts";
import { type PlaceState, placeState, staleLocks } from "../storage/inspect.ts";
import type { AdapterResult } from "../subagents/adapter.ts";
import { lackingMend, STRAY_MEND, strayText } from "../subagents/diagnostics.ts";
import { agentName } from "../task/addresses.ts";
import type { Registry } from "../task/registry.ts";
import { lackingText } from "../ui/agents.ts";
import type { AsideReason } from "../window/aside.ts";
import { type Finding, fine, problem, unknown } from "./report.ts";

export const TESTED_HOSTS = ["0.73.1", "0.84.4", "1.6.0"] as const;
const NODE_MIN = [20, 6] as const;
const LISTED_MAX = 5;

function listed(names: readonly string[]): string {
  const rest = names.length - LISTED_MAX;
  return rest <= 0 ? names.join(", ") : `${names.slice(0, LISTED_MAX).join(", ")} and ${rest} more`;
}

export function checkWindows({ enabled, aside }: WindowFacts): Finding {
  const { because, short, wayBack, wayBackInDoctor } = aside ?? {};
  // The findings below say why.
  if (wayBackInDoctor !== undefined) return problem("windows", `off in this session: ${short}`, wayBackInDoctor);
  if (wayBack !== undefined) return problem("windows", `off in this session: ${because}`, wayBack);
  return fine("windows", enabled ? "kept in this session" : "off; /token-budget on keeps them");
}

export interface WindowFacts {
  readonly enabled: boolean;
  /** Why they have stepped aside. */
  readonly aside: AsideReason | undefined;
}

export interface VersionFacts {
  /** Undefined when Pi runs inside another program. */
  readonly host: { readonly name: string; readonly version: string } | undefined;
  readonly node: string;
  readonly own: string;
}

export function checkVersions({ host, node, own }: VersionFacts): Finding {
  const [major = 0, minor = 0] = node.split(".").map(Number);
  const pi = host ? `Pi ${host.version} (${host.name})` : "Pi inside another program";
  const text = `${pi}, Node ${node}, pi-token-budget ${own}`;
  if (major < NODE_MIN[0] || (major === NODE_MIN[0] && minor < NODE_MIN[1]))
    return problem("versions", text, `Use Node ${NODE_MIN.join(".")} or later.`);
  const isTested = host === undefined || TESTED_HOSTS.some((version) => version === host.version);
  return fine("versions", isTested ? text : `${text}; tested with ${TESTED_HOSTS.join(", ")}`);
}

function mendPlace(state: PlaceState): string | undefined {
  switch (state.type) {
    case "unwritable":
      return `Make ${state.path} writable for you, or move away what is there (${state.reason}).`;
    case "open_to_others":
      return `chmod 700 ${JSON.stringify(state.path)} (it is ${state.mode}, so other users of this machine may read it).`;
    default:
      return undefined;
  }
}

/** The first folder holds the others, and they mostly share a fault. */
export function checkStorage(folders: readonly [string, ...string[]]): Finding {
  const states = folders.map(placeState);
  const mends = [...new Set(states.flatMap((state) => mendPlace(state) ?? []))];
  if (mends.length > 0) return problem("storage", folders[0], mends.join(" "));
  const isThere = states[0]?.type === "fine";
  return fine("storage", `${folders[0]}, ${isThere ? "writable and private" : "made with the first write"}`);
}

/** Whether nothing can be stored in these folders: then everything stored there would fail for the same cause. */
export function isStorageBlocked(folders: readonly string[]): boolean {
  return folders.some((folder) => placeState(folder).type === "unwritable");
}

/** Checks that wait until the storage is repaired. */
export function checkedLater(): Finding {
  return unknown("notes, registry, journal", "not checked before the storage is repaired; ask again then");
}

/** Writes a note, reads it back and removes it: what a checkpoint needs. */
export async function checkNotes(notes: NotesStore): Promise<Finding> {
  const path = `token-budget-doctor-${randomUUID()}.md`;
  const text = "Written by /token-budget doctor to see that notes can be saved. It may be removed.\n";
  try {
    await notes.write(path, text);
    try {
      if (notes.read(path).text !== text) throw new Error("what was read back is not what was written");
    } finally {
      await notes.remove(path);
    }
    return fine("notes", "one was written, read back and removed");
  } catch (error) {
    return problem("notes", messageOf(error), `Until this is repaired no checkpoint can be saved. See ${notes.root}.`);
  }
}

export function checkLocks(folders: readonly string[], files: readonly string[]): Finding {
  const stale = staleLocks(folders, files);
  if (stale.length === 0) return fine("locks", "none is left over");
  return problem(
    "locks",
    `${stale.length} left by a process that ended: ${listed(stale)}`,
    "The next write takes them over; if they come again, end the Pi processes of this session and remove them.",
  );
}

/** `other` is the id of another process that has the session open. */
export function checkProcesses(other: number | undefined): Finding {
  if (other === undefined) return fine("processes", "this one alone has the session open");
  return problem(
    "processes",
    `process ${other} has this session open too: both write the same session file and the same notes`,
    "Close one of them, or start one with --fork.",
  );
}

export function checkRegistry(registry: Registry): Finding {
  try {
    const agents = registry.read().length;
    return fine(
      "registry",
      registry.exists() ? counted(agents, "agent") : "written with the first note, child or message",
    );
  } catch (error) {
    return problem("registry", messageOf(error), `Repair ${registry.layout.registry} from a backup, or remove it.`);
  }
}

export interface JournalFacts {
  readonly items: number;
  /** Items that others can read; what went wrong when it cannot be read. */
  readonly journaled: number | { readonly error: string };
  readonly directory: string;
  /** A person has stopped it. */
  readonly isStopped: boolean;
}

export function checkJournal({ items, journaled, directory, isStopped }: JournalFacts): Finding {
  if (typeof journaled !== "number")
    return problem("journal", journaled.error, `Move ${directory} away: it is written again with the next message.`);
  if (journaled >= items) return fine("journal", `${counted(items, "item")}, all of them`);
  const behind = `${grouped(items - journaled)} of ${counted(items, "item")} are missing, so other agents do not see them`;
  if (isStopped) return problem("journal", `${behind}; you stopped it`, "Reload or resume the session to continue it.");
  return problem("journal", behind, "The next message repairs it; if not, see the warning that it shows.");
}

const NEWER_HOST = "@earendil-works/pi-coding-agent";

export function checkAdapter(result: AdapterResult | undefined, isChild: boolean, host?: string): Finding {
  if (isChild) return fine("pi-subagents", "this session is a child itself");
  switch (result?.type) {
    case "unavailable":
      return problem("pi-subagents", "its children do without this package", result.diagnostic);
    case "registered":
      return fine("pi-subagents", "its children load this package");
    case undefined:
      return unknown("pi-subagents", "it is still being asked; look again in a moment");
    default: {
      const needs = "its published versions need Pi of @earendil-works";
      return fine("pi-subagents", host === NEWER_HOST ? "not in this session" : `not in this session; ${needs}`);
    }
  }
}

export interface ChildFacts {
  readonly lacking: readonly {
    readonly address: string;
    readonly subagent?: string;
    readonly lacks?: readonly string[];
  }[];
  readonly strays: readonly string[];
}

/** Children that run without this package, or without some of its tools. */
export function checkChildren({ lacking, strays }: ChildFacts): Finding {
  if (lacking.length === 0 && strays.length === 0) return fine("children", "none runs without this package");
  const texts = [
    ...lacking.map(({ address, lacks = [] }) => `${agentName(address)} runs ${lackingText(lacks)}`),
    ...(strays.length === 0 ? [] : [strayText(strays)]),
  ];
  const mends = [
    ...lacking.map(({ subagent, lacks = [] }) => lackingMend({ subagent, lacks })),
    ...(strays.length === 0 ? [] : [STRAY_MEND]),
  ];
  return problem("children", texts.slice(0, LISTED_MAX).join("; "), mends.slice(0, LISTED_MAX).join(" "));
}

/** `registered` are those of `names` that no setting leaves out. */
export function checkTools(
  names: readonly string[],
  registered: readonly string[],
  active: readonly string[],
): Finding {
  const missing = registered.filter((name) => !active.includes(name));
  const leftOut = names.filter((name) => !registered.includes(name));
  if (missing.length === 0) {
    const all = `all ${registered.length} are there`;
    return fine("tools", leftOut.length === 0 ? all : `${all}; left out by the setting tools: ${leftOut.join(", ")}`);
  }
  return problem(
    "tools",
    `missing: ${missing.join(", ")}`,
    "A tool list (--tools, --exclude-tools, or another extension) leaves them out: add them there.",
  );
}

export function checkSettings(problems: readonly string[]): Finding {
  if (problems.length === 0) return fine("settings", "all of them are understood");
  return problem("settings", problems.join("\n    "), "Correct it there, then /reload.");
}

/** Versions of copies of this package that stood down. */
export function checkCopies(versions: readonly string[]): Finding {
  if (versions.length === 0) return fine("copies", "this is the only one");
  return problem(
    "copies",
    `${versions.length} more in this session stood down (${listed(versions)})`,
    "They do no harm; remove one from `pi list`, the settings' extensions or -e when they are of different versions.",
  );
}
