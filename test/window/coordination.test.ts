// Who goes on after a window change, as other extensions of the session ask for it over the event bus.
import { describe, expect, it } from "vitest";
import {
  type ClaimResult,
  COORDINATION_CHANNELS,
  Coordination,
  type CoordinationState,
  type EventBus,
} from "../../src/window/coordination.ts";
import { PHASES } from "../../src/window/phase.ts";

const { claim, claimResult, release, state } = COORDINATION_CHANNELS;

/** A synchronous bus like Pi's, that keeps what was said. */
class Bus implements EventBus {
  readonly said: { channel: string; data: unknown }[] = [];
  readonly #handlers: { channel: string; handler: (data: unknown) => void }[] = [];

  emit(channel: string, data: unknown): void {
    this.said.push({ channel, data });
    for (const one of [...this.#handlers]) if (one.channel === channel) one.handler(data);
  }

  on(channel: string, handler: (data: unknown) => void): () => void {
    const one = { channel, handler };
    this.#handlers.push(one);
    return () => void this.#handlers.splice(this.#handlers.indexOf(one), 1);
  }

  get listeners(): number {
    return this.#handlers.length;
  }

  heard(channel: string): unknown[] {
    return this.said.filter((one) => one.channel === channel).map(({ data }) => data);
  }
}

function session(sessionId = "s1", bus = new Bus()) {
  let changes = 0;
  const coordination = new Coordination(bus, sessionId, () => {
    changes++;
    coordination.publish("ready", "w1");
  });
  /** Claims, and answers what the claim was answered with at once. */
  const ask = (fields: Readonly<Record<string, unknown>> = {}): ClaimResult | undefined => {
    let answer: ClaimResult | undefined;
    bus.emit(claim, {
      version: 1,
      sessionId,
      owner: "goals",
      respond: (result: ClaimResult) => {
        answer = result;
      },
      ...fields,
    });
    return answer;
  };
  const states = () => bus.heard(state) as CoordinationState[];
  return { bus, coordination, ask, states, changes: () => changes };
}

describe("a claim", () => {
  it("is answered synchronously, and says so on the bus too", () => {
    const s = session();
    const wanted = { version: 1, sessionId: "s1", owner: "goals", accepted: true };
    expect(s.ask()).toEqual(wanted);
    expect(s.bus.heard(claimResult)).toEqual([wanted]);
    expect(s.coordination.owner).toBe("goals");
  });

  it("may leave out respond", () => {
    const s = session();
    s.bus.emit(claim, { version: 1, sessionId: "s1", owner: "goals" });
    expect(s.coordination.owner).toBe("goals");
    expect(s.bus.heard(claimResult)).toHaveLength(1);
  });

  it("made again by its owner is accepted and changes nothing", () => {
    const s = session();
    s.ask();
    expect(s.ask()).toMatchObject({ accepted: true });
    expect(s.changes()).toBe(1);
    expect(s.states()).toHaveLength(1);
  });

  it("of a second owner is refused and says who holds it", () => {
    const s = session();
    s.ask();
    expect(s.ask({ owner: "reviewer" })).toEqual({
      version: 1,
      sessionId: "s1",
      owner: "reviewer",
      accepted: false,
      reason: "the continuation is held by goals",
    });
    expect(s.coordination.owner).toBe("goals");
    expect(s.changes()).toBe(1);
  });

  it("for another session is left to that one: no answer in its stead, and nothing changes", () => {
    const s = session();
    expect(s.ask({ sessionId: "s2" })).toBeUndefined();
    expect(s.ask({ sessionId: "s2", version: 2 })).toBeUndefined();
    expect(s.coordination.owner).toBeUndefined();
    expect(s.bus.heard(claimResult)).toEqual([]);
  });

  it("on a bus of two sessions is accepted by the one it names and by no other", () => {
    const bus = new Bus();
    const one = session("s1", bus);
    const two = session("s2", bus);
    expect(two.ask()).toMatchObject({ sessionId: "s2", accepted: true });
    expect(one.coordination.owner).toBeUndefined();
    expect(two.coordination.owner).toBe("goals");
    expect(bus.heard(claimResult)).toMatchObject([{ sessionId: "s2", accepted: true }]);
  });

  const malformed: readonly (readonly [string, unknown])[] = [
    ["nothing", undefined],
    ["null", null],
    ["a string", "goals"],
    ["a list", [1]],
    ["no version", { sessionId: "s1", owner: "goals" }],
    ["another version", { version: 2, sessionId: "s1", owner: "goals" }],
    ["a version as text", { version: "1", sessionId: "s1", owner: "goals" }],
    ["no session", { version: 1, owner: "goals" }],
    ["a session that is no string", { version: 1, sessionId: 1, owner: "goals" }],
    ["no owner", { version: 1, sessionId: "s1" }],
    ["an empty owner", { version: 1, sessionId: "s1", owner: "" }],
    ["an owner that is no string", { version: 1, sessionId: "s1", owner: {} }],
    ["an owner of 201 characters", { version: 1, sessionId: "s1", owner: "x".repeat(201) }],
    ["a respond that is no function", { version: 1, sessionId: "s1", owner: "goals", respond: true }],
    ["an unknown field", { version: 1, sessionId: "s1", owner: "goals", force: true }],
  ];
  for (const [what, data] of malformed) {
    it(`of ${what} is refused`, () => {
      const s = session();
      expect(() => s.bus.emit(claim, data)).not.toThrow();
      expect(s.coordination.owner).toBeUndefined();
      expect(s.bus.heard(claimResult)).toMatchObject([{ sessionId: "s1", accepted: false }]);
      expect(s.changes()).toBe(0);
    });
  }

  it("whose respond throws still counts, and is still said on the bus", () => {
    const s = session();
    const respond = () => {
      throw new Error("not my day");
    };
    expect(() => s.ask({ respond })).not.toThrow();
    expect(s.coordination.owner).toBe("goals");
    expect(s.bus.heard(claimResult)).toHaveLength(1);
    expect(s.changes()).toBe(1);
  });
});

describe("a release", () => {
  it("by the owner frees the continuation for the next one", () => {
    const s = session();
    s.ask();
    s.bus.emit(release, { version: 1, sessionId: "s1", owner: "goals" });
    expect(s.coordination.owner).toBeUndefined();
    expect(s.ask({ owner: "reviewer" })).toMatchObject({ accepted: true });
    expect(s.states().map(({ owner }) => owner)).toEqual(["goals", null, "reviewer"]);
  });

  const wrong: readonly (readonly [string, unknown])[] = [
    ["by somebody else", { version: 1, sessionId: "s1", owner: "reviewer" }],
    ["of another session", { version: 1, sessionId: "s2", owner: "goals" }],
    ["of another version", { version: 2, sessionId: "s1", owner: "goals" }],
    ["with an unknown field", { version: 1, sessionId: "s1", owner: "goals", respond: () => undefined }],
    ["of nothing", undefined],
  ];
  for (const [what, data] of wrong) {
    it(`${what} changes nothing`, () => {
      const s = session();
      s.ask();
      s.bus.emit(release, data);
      expect(s.coordination.owner).toBe("goals");
      expect(s.states()).toHaveLength(1);
    });
  }

  it("of a continuation that nobody holds changes nothing", () => {
    const s = session();
    s.bus.emit(release, { version: 1, sessionId: "s1", owner: "goals" });
    expect(s.changes()).toBe(0);
  });
});

describe("the published state", () => {
  it("holds every phase by its name, with a sequence that grows by one, and repeats nothing", () => {
    const s = session();
    for (const phase of PHASES) {
      s.coordination.publish(phase, "w1");
      s.coordination.publish(phase, "w1");
    }
    s.coordination.publish("ready", "w2");
    expect(s.states().map(({ phase, windowId }) => [phase, windowId])).toEqual([
      ["disabled", "w1"],
      ["ready", "w1"],
      ["reminded", "w1"],
      ["checkpoint_required", "w1"],
      ["rollover_pending", "w1"],
      ["rolling_over", "w1"],
      ["ready", "w2"],
    ]);
    expect(s.states().map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(s.states()[0]).toEqual({
      version: 1,
      sessionId: "s1",
      sequence: 1,
      phase: "disabled",
      windowId: "w1",
      owner: null,
    });
  });

  it("ends with the session: nothing listens any more", () => {
    const s = session();
    s.coordination.close();
    expect(s.bus.listeners).toBe(0);
    expect(s.ask()).toBeUndefined();
    expect(s.coordination.owner).toBeUndefined();
  });
});
