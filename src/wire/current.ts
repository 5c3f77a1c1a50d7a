// The parts of the session that the host shows now, made anew whenever it shows another.
import { agentDirectory } from "../host/agent-dir.ts";
import type { HostContext, SessionStartEvent } from "../host/api.ts";
import type { Host } from "../host/host.ts";
import type { HostPackage } from "../host/package.ts";
import { openSession, type SessionParts } from "../session.ts";
import type { Work } from "../storage/work.ts";
import type { TaskMembership } from "../task/context.ts";
import type { Joining } from "../task/joining.ts";
import type { Ending } from "../task/membership.ts";

import type { Surroundings } from "./doctor.ts";
import { JOURNAL_WORK, NOTES_WORK, shownWork } from "./progress.ts";

export interface Wiring {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly joining: Joining;
  /** Of pi-subagents. */
  readonly modulePath: string | undefined;
  /** The folder of this package, where a program that bundles it says so. */
  readonly packageDirectory: string | undefined;
  /** The host, where it can be told. */
  readonly runningOn: HostPackage | undefined;
  /** The extension that joins a child session to its root task. */
  readonly childExtension: (membership: TaskMembership) => unknown;
  /** What is known of the session beside its parts, for the doctor. */
  readonly surroundings: Surroundings;
}

function sessionWork(what: "journal" | "notes", context: () => HostContext): Work {
  return shownWork(what === "journal" ? JOURNAL_WORK : NOTES_WORK, context);
}

/** The parts of the session that the host shows now; another session gets parts of its own. */
export class CurrentSession {
  readonly #host: Host;
  readonly #wiring: Wiring;
  #parts: SessionParts | undefined;
  /** The session that was closed last, until it is left too. */
  #closed: SessionParts | undefined;

  constructor(host: Host, wiring: Wiring) {
    this.#host = host;
    this.#wiring = wiring;
  }

  of(ctx: HostContext, start?: SessionStartEvent): SessionParts {
    if (this.#parts?.sessionId !== ctx.sessionManager.getSessionId()) {
      void this.close();
      const { env, joining } = this.#wiring;
      const agentDir = agentDirectory(env);
      const { membership } = joining;
      this.#parts = openSession(this.#host, ctx, { agentDir, env, membership, work: sessionWork, start });
    }
    this.#parts.attach(ctx);
    return this.#parts;
  }

  /** Undefined when the parts of the session cannot be made. */
  tryOf(ctx: HostContext): SessionParts | undefined {
    try {
      return this.of(ctx);
    } catch {
      return undefined;
    }
  }

  /** The parts of the session that is open; its host may have let go of it already. */
  get opened(): SessionParts | undefined {
    return this.#parts;
  }

  /** Tools are only run inside a session, and `of` has been called before. */
  get running(): SessionParts {
    if (!this.#parts) throw new Error("no session has started");
    return this.#parts;
  }

  async close(ending: Ending = {}): Promise<void> {
    const parts = this.#parts;
    this.#parts = undefined;
    if (parts) this.#closed = parts;
    await parts?.end(ending);
  }

  /** Behind everything else at the end of a session. */
  async leave(): Promise<void> {
    const closed = this.#closed;
    this.#closed = undefined;
    await closed?.leave();
  }
}
