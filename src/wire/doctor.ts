// Gathers what the doctor looks at in a live session.
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  checkAdapter,
  checkChildren,
  checkCopies,
  checkedLater,
  checkJournal,
  checkLocks,
  checkNotes,
  checkProcesses,
  checkRegistry,
  checkSettings,
  checkStorage,
  checkTools,
  checkVersions,
  checkWindows,
  isStorageBlocked,
  type JournalFacts,
} from "../doctor/checks.ts";
import { doctorReport } from "../doctor/report.ts";
import { messageOf } from "../errors.ts";
import type { Host } from "../host/host.ts";
import { JournalReader } from "../journal/reader.ts";
import { runningHost } from "../packages/host.ts";
import { ownPackage } from "../packages/own.ts";
import type { Session } from "../session/session.ts";
import type { AdapterResult } from "../subagents/adapter.ts";
import { locatorLayout } from "../task/layout.ts";
import { TOOL_NAMES } from "../tools/specs.ts";
import { childProblems } from "./child-problems.ts";

/** Facts about a session that its own parts do not know. */
export interface Surroundings {
  /** The outcome of the registration with pi-subagents; undefined until it is known. */
  adapter: AdapterResult | undefined;
  /** Resolves when that is known. */
  asked: Promise<unknown> | undefined;
  /** Versions of other copies of this package in the session. */
  copies: () => readonly string[];
}

function hostPackage() {
  return runningHost()?.found;
}

async function journalFacts({ access, journal, task, agent }: Session): Promise<JournalFacts> {
  await journal.sync();
  const { historyDir: directory } = task;
  const items = (await access.historyOf(undefined)).rows.length;
  const { isStopped } = journal;
  try {
    const { rows } = await new JournalReader({ directory, agent }).refresh();
    return { items, journaled: rows.length, directory, isStopped };
  } catch (error) {
    return { items, journaled: { error: messageOf(error) }, directory, isStopped };
  }
}

/** pi-subagents is asked when the session starts; a slower answer counts as not known yet. */
const ASKED_MAX_MS = 5_000;

export async function examine(host: Host, session: Session, surroundings: Surroundings): Promise<string> {
  const { task, notes } = session;
  await Promise.race([surroundings.asked, delay(ASKED_MAX_MS, undefined, { ref: false })]);
  const { adapter, copies } = surroundings;
  const { storageRoot } = task.context;
  const metas = [`${notes.root}.meta`, task.registry.layout.meta, locatorLayout(storageRoot).meta];
  const journalLock = join(task.historyDir, "journal.jsonl.lock");
  const folders = [storageRoot, notes.root, task.registry.layout.directory, task.historyDir] as const;
  const isBlocked = isStorageBlocked(folders);
  // It makes the folders that the next checks look at.
  const written = isBlocked ? [] : [await checkNotes(notes)];
  const kept = isBlocked ? [checkedLater()] : [checkRegistry(task.registry), checkJournal(await journalFacts(session))];
  return doctorReport([
    checkVersions({ host: hostPackage(), node: process.versions.node, own: ownPackage()?.version ?? "unknown" }),
    checkWindows({ enabled: session.enabled(), aside: session.aside.reason }),
    checkStorage(folders),
    ...written,
    checkLocks(
      metas.map((meta) => join(meta, "locks")),
      [journalLock],
    ),
    checkProcesses(task.presence.otherProcess()),
    ...kept,
    checkAdapter(adapter, task.parent !== null, hostPackage()?.name),
    checkChildren(childProblems(session, session.openedMs)),
    checkTools(TOOL_NAMES, host.ownTools(), host.activeTools()),
    checkSettings(session.settingsProblems()),
    checkCopies(copies()),
  ]);
}
