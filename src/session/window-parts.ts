// What a session gives to its windows: its place in the task, its settings, and ways to the host and to the person.

import type { HostContext } from "../host/api.ts";
import { hasScreen } from "../host/context.ts";
import type { Host } from "../host/host.ts";
import { windowSize } from "../host/models.ts";
import type { NotesStore } from "../notes/store.ts";
import type { LoadedSettings, Settings } from "../settings.ts";
import { oneLine, shorten } from "../storage/text.ts";
import type { SessionTask } from "../task/membership.ts";
import { isValidCall } from "../tools/arguments.ts";
import type { Aside } from "../window/aside.ts";
import type { RunningChild } from "../window/bootstrap.ts";
import type { Coordination } from "../window/coordination.ts";
import type { WindowParts } from "../window/windows.ts";
import { notesIndex, pathFault } from "./own-notes.ts";

const APART_REASON_CODE_POINTS = 500;

/** The part of a session that its windows need; what is made after them is asked for when it is needed. */
export interface WindowOwner {
  readonly agent: string;
  readonly task: SessionTask;
  readonly loaded: LoadedSettings;
  readonly notes: NotesStore;
  readonly aside: Aside;
  readonly coordination: Pick<Coordination, "owner">;
  readonly access: { children(): readonly RunningChild[] };
  context(): HostContext;
  settings(): Settings;
  enabled(): boolean;
  canCheckpoint(): boolean;
  report(problem: string): void;
}

export function windowParts(owner: WindowOwner, host: Host, createdAt: number): WindowParts {
  const { agent, task, loaded, notes, aside } = owner;
  return {
    agent,
    runId: task.context.runId,
    apart: apartReason(task),
    createdAt,
    ownNotes: () => notesIndex(notes),
    children: () => owner.access.children(),
    pathFault: (path) => pathFault(agent, path),
    canRun: (toolName, args) => host.isActive(toolName) && isValidCall(toolName, args),
    fenceMaxRequests: () => owner.settings().fenceMaxRequests,
    enabled: () => owner.enabled(),
    canCheckpoint: () => owner.canCheckpoint(),
    stepAside: (reason) => aside.stepAside(reason),
    settings: () => owner.settings(),
    reserveTokens: loaded.reserveTokens,
    keepRecentTokens: loaded.keepRecentTokens,
    contextWindow: () => windowSize(owner.context()),
    continues: () => owner.coordination.owner === undefined,
    send: (message, delivery) => host.send(message, delivery),
    report: (problem) => owner.report(problem),
    remark: (text) => {
      const ctx = owner.context();
      if (hasScreen(ctx)) host.notices.showAfter(ctx, `pi-token-budget: ${text}`, "info");
    },
    mark: (customType, data) => host.mark(customType, data),
  };
}

/** Read once: the model's text about its place must not change during the session. */
function apartReason(task: SessionTask): () => string | undefined {
  let known: { readonly reason: string | undefined } | undefined;
  return () => {
    known ??= { reason: task.problem && shorten(oneLine(task.problem.message), APART_REASON_CODE_POINTS) };
    return known.reason;
  };
}
