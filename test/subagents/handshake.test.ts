// The handshake of copies over a bus like the hosts' own: synchronous, with handlers that may be asynchronous functions.
import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import {
  type ClaimOptions,
  COPIES_CHANNEL,
  type CopiesApi,
  claimSession,
  type Membership,
  type SessionOwner,
} from "../../src/host/copies.ts";

interface Bus {
  readonly events: CopiesApi["events"];
  readonly listeners: () => number;
}

function bus(): Bus {
  const emitter = new EventEmitter();
  return {
    events: {
      emit: (channel, data) => void emitter.emit(channel, data),
      on: (channel, handler) => {
        const safely = async (data: unknown) => handler(data);
        emitter.on(channel, safely);
        return () => void emitter.off(channel, safely);
      },
    },
    listeners: () => emitter.listenerCount(COPIES_CHANNEL),
  };
}

/** The extension interface of a copy whose session is loading, or running already. */
function api({ events }: Bus, state: "loading" | "running" = "loading"): CopiesApi {
  return {
    events,
    getActiveTools: () => {
      if (state === "loading") throw new Error("Extension runtime not initialized.");
      return [];
    },
  };
}

const options = (version: string, more: Partial<ClaimOptions> = {}): ClaimOptions => ({
  version,
  onMembership: () => ({ type: "accepted" }),
  ...more,
});

function owner(claimed: ReturnType<typeof claimSession>): SessionOwner {
  if (claimed.type !== "owner") throw new Error("stands down");
  return claimed;
}

describe("copies of this package in one session", () => {
  it("the first to load owns the session, and the others stand down to it", () => {
    const session = bus();
    expect(claimSession(api(session), options("1.2.3")).type).toBe("owner");
    for (const version of ["1.2.3", "0.9.0", "7.0.0"]) {
      expect(claimSession(api(session), options(version))).toEqual({
        type: "standing_down",
        owner: { protocol: 1, version: "1.2.3" },
        handover: undefined,
      });
    }
    expect(session.listeners()).toBe(1);
  });

  it("each session of a process has an owner of its own", () => {
    const sessions = [bus(), bus(), bus()];
    expect(sessions.map((session) => claimSession(api(session), options("1.0.0")).type)).toEqual(
      sessions.map(() => "owner"),
    );
  });

  it("an owner that was released is heard of no more, so that a reload starts afresh", () => {
    const session = bus();
    const first = owner(claimSession(api(session), options("1.0.0")));
    first.started();
    first.release();
    first.release();
    expect(session.listeners()).toBe(0);
    expect(claimSession(api(session), options("1.0.1")).type).toBe("owner");
  });

  it("on a bus that several sessions share, each session that loads after another one started gets its own copy", () => {
    const shared = bus();
    owner(claimSession(api(shared), options("1.0.0"))).started();
    const second = owner(claimSession(api(shared), options("1.0.0")));
    expect(claimSession(api(shared), options("1.0.0")).type).toBe("standing_down");
    second.started();
    expect(claimSession(api(shared), options("1.0.0")).type).toBe("owner");
  });

  it("a copy that is added while the session runs stands down, and is too late to bring a membership", () => {
    const session = bus();
    const asked: Membership[] = [];
    const onMembership = (membership: Membership) => {
      asked.push(membership);
      return { type: "accepted" } as const;
    };
    owner(claimSession(api(session), options("1.0.0", { onMembership }))).started();
    const late = claimSession(api(session, "running"), options("1.0.0", { membership: { runId: "r" } }));
    expect(late).toMatchObject({ type: "standing_down", handover: { type: "refused" } });
    expect(late.type === "standing_down" && late.handover).toMatchObject({
      reason: expect.stringContaining("started"),
    });
    expect(asked).toEqual([]);
  });
});

describe("a task membership that a later copy brings", () => {
  function handedOver(onMembership: ClaimOptions["onMembership"], membership: Membership = { runId: "run-1" }) {
    const session = bus();
    claimSession(api(session), options("1.0.0", { onMembership }));
    const claimed = claimSession(api(session), options("1.0.0", { membership }));
    return claimed.type === "standing_down" ? claimed.handover : "owner";
  }

  it("is handed to the owner as a copy of its own, and accepted", () => {
    const given = { runId: "run-1", nested: { path: "ü/一" } };
    let got: Membership | undefined;
    const handover = handedOver((membership) => {
      got = membership;
      return { type: "accepted" };
    }, given);
    expect(handover).toEqual({ type: "accepted" });
    expect(got).toEqual(given);
    expect(got).not.toBe(given);
    expect(got?.nested).not.toBe(given.nested);
  });

  it("is refused with the owner's reason", () => {
    const reason = "this session belongs to task run-0 already";
    expect(handedOver(() => ({ type: "refused", reason }))).toEqual({ type: "refused", reason });
  });

  it("is refused when the owner fails over it", () => {
    const handover = handedOver(() => {
      throw new Error("registry.json is damaged");
    });
    expect(handover).toEqual({ type: "refused", reason: "registry.json is damaged" });
  });

  it("is kept by a copy that becomes the owner itself", () => {
    const claimed = claimSession(api(bus()), options("1.0.0", { membership: { runId: "run-1" } }));
    expect(claimed.type).toBe("owner");
  });
});

describe("copies of another protocol", () => {
  const others: readonly (readonly [string, unknown])[] = [
    ["a newer answer", { protocol: 2, version: { major: 9 }, handover: { type: "accepted", more: [] } }],
    ["an older answer", { version: "0.0.1" }],
    ["an answer of another shape", "mine"],
    ["an empty answer", undefined],
  ];
  it.each(others)("%s means that somebody owns the session, and that nothing was handed over", (_name, answer) => {
    const session = bus();
    session.events.on(COPIES_CHANNEL, (data) => (data as { answer: (value: unknown) => void }).answer(answer));
    const claimed = claimSession(api(session), options("1.0.0", { membership: { runId: "run-1" } }));
    expect(claimed).toMatchObject({ type: "standing_down", handover: { type: "refused" } });
  });

  it("are answered, and only understood as a question", () => {
    const session = bus();
    let asked = 0;
    const onMembership = () => {
      asked++;
      return { type: "accepted" } as const;
    };
    owner(claimSession(api(session), options("1.0.0", { onMembership }))).started();
    const answers: unknown[] = [];
    const answer = (value: unknown) => void answers.push(value);
    session.events.emit(COPIES_CHANNEL, { protocol: 2, loading: true, membership: '{"a":1}', answer });
    session.events.emit(COPIES_CHANNEL, { answer });
    expect(answers).toEqual([
      { protocol: 1, version: "1.0.0" },
      { protocol: 1, version: "1.0.0" },
    ]);
    expect(asked).toBe(0);
  });

  it.each([undefined, null, 7, "probe", {}, { protocol: 1 }, { answer: "me" }])("%j is no question", (data) => {
    const session = bus();
    claimSession(api(session), options("1.0.0"));
    expect(() => session.events.emit(COPIES_CHANNEL, data)).not.toThrow();
  });

  it("an answer that comes later does not count", async () => {
    const session = bus();
    session.events.on(COPIES_CHANNEL, (data) => {
      setTimeout(() => (data as { answer: (value: unknown) => void }).answer({ protocol: 1, version: "1.0.0" }), 1);
    });
    const claimed = claimSession(api(session), options("1.0.0"));
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(claimed.type).toBe("owner");
  });
});
