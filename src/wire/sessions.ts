// The session that the host shows now; another one is opened when the host shows another.
import type { ChildExtension } from "../dispatch/run/session-runner.ts";
import { agentDirectory } from "../host/agent-dir.ts";
import type { HostContext, SessionStartEvent } from "../host/api.ts";
import type { Host } from "../host/host.ts";
import type { HostPackage } from "../packages/host.ts";
import { Session } from "../session/session.ts";
import type { Work } from "../storage/work.ts";
import type { Joining } from "../task/joining.ts";
import type { Ending } from "../task/presence.ts";
import type { Surroundings } from "./doctor.ts";
import { JOURNAL_WORK, NOTES_WORK, shownWork } from "./progress.ts";

export interface Wiring {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly joining: Joining;
  /** Of pi-subagents. */
  readonly modulePath: string | undefined;
  /** The folder of this package, where a program that bundles it says so. */
  readonly packageDirectory: string | undefined;
  /** The host, where it is known. */
  readonly runningOn: HostPackage | undefined;
  readonly childExtension: ChildExtension;
  /** What is known of the session from outside it, for the doctor. */
  readonly surroundings: Surroundings;
}

function sessionWork(what: "journal" | "notes", context: () => HostContext): Work {
  return shownWork(what === "journal" ? JOURNAL_WORK : NOTES_WORK, context);
}

export class Sessions {
  readonly #host: Host;
  readonly #wiring: Wiring;
  #open: Session | undefined;
  /** The session that was closed last, until it is left too. */
  #closed: Session | undefined;

  constructor(host: Host, wiring: Wiring) {
    this.#host = host;
    this.#wiring = wiring;
  }

  /** The session of an event, with the event's context; opened when it is another one. */
  of(ctx: HostContext, start?: SessionStartEvent): Session {
    if (this.#open?.sessionId !== ctx.sessionManager.getSessionId()) {
      void this.close();
      const { env, joining } = this.#wiring;
      const agentDir = agentDirectory(env);
      const { membership } = joining;
      this.#open = new Session(this.#host, ctx, { agentDir, env, membership, work: sessionWork, start });
    }
    this.#open.attach(ctx);
    return this.#open;
  }

  /** Undefined when the session cannot be opened. */
  tryOf(ctx: HostContext): Session | undefined {
    try {
      return this.of(ctx);
    } catch {
      return undefined;
    }
  }

  /** The session that is open; its host may have let go of it already. */
  get opened(): Session | undefined {
    return this.#open;
  }

  /** Tools are only run inside a session, and `of` has been called before. */
  get running(): Session {
    if (!this.#open) throw new Error("no session has started");
    return this.#open;
  }

  async close(ending: Ending = {}): Promise<void> {
    const session = this.#open;
    this.#open = undefined;
    if (session) this.#closed = session;
    await session?.end(ending);
  }

  /** After everything else at the end of a session. */
  async leave(): Promise<void> {
    const closed = this.#closed;
    this.#closed = undefined;
    await closed?.leave();
  }
}
