// Whether a session is a fork, and of which agent's session: what it starts with is copied from there.
import { messageOf } from "../errors.ts";
import type { HostContext, SessionStartEvent } from "../host/api.ts";
import { entriesOf, identityOf, parentSessionOf } from "../host/context.ts";
import type { LogEntry } from "../host/entries.ts";
import { ancestry } from "../log/ancestry.ts";
import type { TaskMembership } from "../task/context.ts";
import { forkSource } from "../task/forks.ts";
import type { ForkSource } from "../task/seats.ts";

export interface ForkFacts {
  readonly agentDir: string;
  readonly membership: TaskMembership | undefined;
  /** How the session was started; undefined when the host has not said. */
  readonly start: SessionStartEvent | undefined;
}

/** The first entry of a forked branch is older than its session. */
function isForked(ctx: HostContext, { createdAt }: { readonly createdAt: number }): boolean {
  const entries = entriesOf(ctx);
  let oldest: LogEntry | undefined;
  for (const entry of ancestry(entries, entries.leafId())) oldest = entry;
  const written = Date.parse(String(oldest?.timestamp ?? ""));
  return written < createdAt;
}

/** What this session is a fork of. A child of a task is no fork, whatever its launcher copied into its branch. */
export function forkedFrom(
  ctx: HostContext,
  { agentDir, membership, start }: ForkFacts,
  report: (problem: string) => void,
): ForkSource | undefined {
  const identity = identityOf(ctx);
  const source = parentSessionOf(ctx) ?? (start?.reason === "fork" ? start.previousSessionFile : undefined);
  if (membership !== undefined || source === undefined) return undefined;
  if (start?.reason !== "fork" && !isForked(ctx, identity)) return undefined;
  try {
    return forkSource(identity, source, { agentDir });
  } catch (error) {
    report(messageOf(error));
    return undefined;
  }
}
