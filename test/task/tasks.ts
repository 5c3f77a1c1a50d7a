// Sessions for tests: files in directories that are gone after the test, and the tasks they open.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { SessionIdentity } from "../../src/host/context.ts";
import type { TaskMembership } from "../../src/task/context.ts";
import type { OpenTaskOptions, SessionTask } from "../../src/task/membership.ts";
import { openTask } from "../../src/task/open.ts";
import { temporaryDirectory } from "../storage/disks.ts";

export const CREATED_AT = Date.parse("2025-01-02T03:04:05.678Z");

export interface Place {
  readonly base: string;
  readonly agentDir: string;
  /** A session in a file of its own in a directory below the base. */
  session(id: string, directory?: string, parentSession?: string): SessionIdentity;
  open(identity: SessionIdentity, options?: Partial<OpenTaskOptions>): Opened;
}

export interface Opened {
  readonly task: SessionTask;
  /** What was reported, in order. */
  readonly problems: string[];
}

/** Writes a session file as hosts do; `file` may hold no id. */
export function sessionIn(file: string, sessionId: string, parentSession?: string): SessionIdentity {
  mkdirSync(dirname(file), { recursive: true });
  const timestamp = new Date(CREATED_AT).toISOString();
  const header = { type: "session", version: 3, id: sessionId, timestamp, cwd: "/project", parentSession };
  writeFileSync(file, `${JSON.stringify(header)}\n`);
  return { sessionId, sessionFile: file, createdAt: CREATED_AT };
}

export function inMemory(sessionId: string): SessionIdentity {
  return { sessionId, sessionFile: undefined, createdAt: CREATED_AT };
}

export function newPlace(base = temporaryDirectory()): Place {
  const agentDir = join(base, "agent");
  return {
    base,
    agentDir,
    session: (id, directory = "sessions", parent) =>
      sessionIn(join(base, directory, `2025-01-02T03-04-05-678Z_${id}.jsonl`), id, parent),
    open: (identity, options = {}) => {
      const problems: string[] = [];
      const report = (problem: string) => problems.push(problem);
      return { task: openTask({ identity, agentDir, report, lockWaitMs: 200, ...options }), problems };
    },
  };
}

/** What a launcher passes on to a child of this task. */
export function memberOf(task: SessionTask, rest: Partial<TaskMembership> = {}): TaskMembership {
  if (!task.registry.holdsTask()) task.registry.makeDirectory();
  return { ...task.context, parentAgentName: task.agent, ...rest };
}
