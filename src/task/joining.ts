// Which root task the session of one owner joins: the one it was given, or one that a copy standing down hands over.
import type { Handover, Membership } from "../host/copies.ts";
import { parseMembership, type TaskMembership } from "./context.ts";

export class Joining {
  #membership: TaskMembership | undefined;

  constructor(given: TaskMembership | undefined) {
    this.#membership = given;
  }

  get membership(): TaskMembership | undefined {
    return this.#membership;
  }

  /** The first membership counts. Throws when it is malformed. */
  take(handed: Membership): Handover {
    const membership = parseMembership(handed);
    this.#membership ??= membership;
    if (isSame(this.#membership, membership)) return { type: "accepted" };
    return { type: "refused", reason: "the session joins another root task, or another place in it, already" };
  }
}

function isSame(a: TaskMembership, b: TaskMembership): boolean {
  return JSON.stringify(Object.entries(a).sort()) === JSON.stringify(Object.entries(b).sort());
}
