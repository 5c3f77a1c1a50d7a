// docs/state-diagram.md, made by driving the window machine itself: from its first state, a closed set of events is
// tried in every state that can be reached, and what the machine answers is carried out as the window and the host would.
// It knows what happens around the machine, never what the machine decides.
import type { LogFact } from "../../src/window/facts.ts";
import {
  type Effect,
  fenceOf,
  INITIAL_STATE,
  type LiveEvent,
  step,
  type WindowState,
} from "../../src/window/machine.ts";
import { PHASES, type Phase, phaseOf } from "../../src/window/phase.ts";
import { table } from "./table.ts";

/** The machine and what stands around it. */
interface World {
  readonly state: WindowState;
  /** A compaction of the host is running, and what it will write. */
  readonly compaction: { readonly cause: Opened["cause"] } | "repeats" | undefined;
}

type Opened = Extract<LogFact, { type: "window_opened" }>;
type Outcome = { readonly world: World; readonly effect: Effect | undefined };

/** An event as a person would name it; undefined where it cannot happen. */
interface Event {
  readonly name: string;
  readonly happen: (world: World) => Outcome | undefined;
}

const CALL = "call";
const MANUAL = "manual";
const QUEUED = "queued";

function fact(world: World, ...facts: readonly LogFact[]): World {
  return { ...world, state: facts.reduce((state, one) => step(state, one).state, world.state) };
}

function opened(world: World, by: Opened["by"], cause: Opened["cause"]): World {
  // Windows beyond the second are alike.
  return fact(world, { type: "window_opened", number: 2, by, cause });
}

/** Tells the machine and carries out what it asks for. */
function tell(world: World, event: LiveEvent, openedBy: Opened["by"]): Outcome {
  const { state, effect } = step(world.state, event);
  const next = { ...world, state };
  return { world: effect ? carryOut(next, effect, openedBy) : next, effect };
}

function carryOut(world: World, effect: Effect, openedBy: Opened["by"]): World {
  switch (effect.type) {
    case "open_window":
      return openedBy === "compaction"
        ? { ...world, compaction: { cause: effect.cause } }
        : opened(world, openedBy, effect.cause);
    case "consolidate":
      return { ...world, compaction: "repeats" };
    case "mark_checkpoint":
      return fact(world, { type: "checkpoint_saved", requestId: effect.requestId });
    case "rest_fence":
      return fact(world, { type: "control_cancelled", requestId: effect.requestId });
    case "step_aside": {
      // What stands open is taken back; what is decided while windows are off is not drawn.
      const { fence } = world.state.log;
      return fence ? fact(world, { type: "control_cancelled", requestId: fence.requestId }) : world;
    }
    default:
      return world;
  }
}

const live = (name: string, event: LiveEvent, openedBy: Opened["by"] = "tool_result"): Event => ({
  name,
  happen: (world) => tell(world, event, openedBy),
});
const onlyIf = (event: Event, possible: (world: World) => boolean): Event => ({
  ...event,
  happen: (world) => (possible(world) ? event.happen(world) : undefined),
});
const budget = (level: "reminder" | "fallback"): LiveEvent => ({
  type: "budget_checked",
  level,
  hardTriggerTokens: undefined,
  via: "steer",
});
const compaction = (reason: "manual" | "threshold" | "overflow", unconsolidatedWindows: number): LiveEvent => ({
  type: "compaction_started",
  reason,
  enabled: true,
  canWrite: true,
  isOurs: false,
  isFinished: false,
  isRefused: false,
  unconsolidatedWindows,
  requestId: MANUAL,
});
/** Drawn with a small bound, so that the states are few. */
const FENCE_REQUESTS = 1;

const toolCall = (
  ownNoteWrite: boolean,
  other: { readonly blank?: true; readonly canWrite?: false } = {},
): LiveEvent => ({
  type: "tool_called",
  toolCallId: CALL,
  ownNoteWrite,
  blank: false,
  canWrite: true,
  opensWindow: false,
  nested: false,
  batchIsClosed: false,
  ...other,
});

/** Tools run in a run whose request has gone out, never beside a compaction of the host. */
const inRun = ({ state, compaction: running }: World) => {
  const { requestSent, manual } = state.live;
  return running === undefined && requestSent && (manual === undefined || manual.delivered);
};
const quiet = ({ compaction: running }: World) => running === undefined;
/** Each checkpoint asked for by hand under a fence adds to its requests: once over the bound is drawn. */
const canAskByHand = (world: World) => quiet(world) && (world.state.log.fence?.requests ?? 0) < FENCE_REQUESTS;
const isClaimed = (world: World) => quiet(world) && world.state.live.claim === CALL;
const isAwaiting = ({ state }: World) => state.live.manual !== undefined && state.live.manual.phase !== "compacting";

const EVENTS: readonly Event[] = [
  {
    name: "the user writes",
    happen: (world) => ({ world: fact(world, { type: "user_spoke" }, { type: "worked" }), effect: undefined }),
  },
  {
    name: "a request goes out",
    happen: (world) => {
      if (!quiet(world)) return undefined;
      const due = tell(world, { type: "request_due", fenceMaxRequests: FENCE_REQUESTS, canWrite: true }, "message");
      // The turn ends instead.
      if (due.effect?.type === "end_checkpoint_turn") return due;
      const { manual } = due.world.state.live;
      const arrives = manual && !manual.delivered && !due.world.state.log.fence;
      const before = arrives
        ? fact(due.world, {
            type: "control_arrived",
            kind: "manual_checkpoint",
            requestId: MANUAL,
            hardTriggerTokens: undefined,
          })
        : due.world;
      const sent = tell(before, { type: "request_sent", delivered: manual ? [MANUAL] : [] }, "tool_result");
      return { world: sent.world, effect: due.effect };
    },
  },
  {
    name: "the model answers",
    happen: (world) => {
      // No answer without a request, and none goes out when the fence is spent.
      if (!inRun(world) || (world.state.log.fence?.requests ?? 0) > FENCE_REQUESTS) return undefined;
      const answered = { type: "model_answered", failed: false, usedTokens: 1_000 } as const;
      return { world: fact(world, { type: "worked" }, answered), effect: undefined };
    },
  },
  onlyIf(live("little of the window is left", budget("reminder")), inRun),
  onlyIf(live("the window is nearly used up", budget("fallback")), inRun),
  {
    name: "the queued message arrives",
    happen: (world) => {
      const [first] = world.state.live.queued;
      if (!first || !quiet(world)) return undefined;
      const arrived = { type: "control_arrived", requestId: QUEUED, hardTriggerTokens: undefined } as const;
      return { world: fact(world, { ...arrived, kind: first.kind }), effect: undefined };
    },
  },
  onlyIf(live("a call of any other tool", toolCall(false)), inRun),
  onlyIf(live("a call that writes an own note", toolCall(true)), inRun),
  onlyIf(live("a call that writes blanks to an own note", toolCall(true, { blank: true })), inRun),
  onlyIf(live("a call while no tool writes notes", toolCall(false, { canWrite: false })), inRun),
  onlyIf(
    live("the storage fails the claimed write", { type: "note_failed", toolCallId: CALL, ofStorage: true }),
    isClaimed,
  ),
  onlyIf(live("the claimed write is saved", { type: "note_saved", toolCallId: CALL }), isClaimed),
  onlyIf(live("the claimed write fails", { type: "tool_failed", toolCallId: CALL }), isClaimed),
  onlyIf(
    live("new_context runs", { type: "new_context_called", toolCallId: "call", batchIsClosed: false }),
    // Under a fence the call is refused before it runs.
    (world) => inRun(world) && fenceOf(world.state) === undefined && world.state.live.manual === undefined,
  ),
  onlyIf(live("the run settles", { type: "settled", aborted: false }), quiet),
  onlyIf(live("too long a request, no hook", { type: "overflow_settled" }, "message"), quiet),
  onlyIf(live("too long a request, hook", compaction("overflow", 0), "compaction"), quiet),
  onlyIf(live("the host's threshold, all consolidated", compaction("threshold", 0), "compaction"), quiet),
  onlyIf(live("the host's threshold, an older window held", compaction("threshold", 1), "compaction"), quiet),
  onlyIf(live("/compact", compaction("manual", 0), "compaction"), canAskByHand),
  onlyIf(live("/context new", { type: "checkpoint_asked", requestId: MANUAL }), canAskByHand),
  onlyIf(live("/context new --without-note, or its request failed", { type: "left_without_note" }, "message"), quiet),
  onlyIf(
    {
      name: "the checkpoint turn ends",
      happen: (world) => {
        const { live: now, log } = world.state;
        const { manual } = now;
        if (manual?.phase === "saved" && manual.opensByWrite)
          return tell(world, { type: "manual_ended" }, "tool_result");
        if (manual?.phase === "saved") {
          const { world: next, effect } = tell(world, { type: "manual_compacting" }, "compaction");
          // Under a fallback the write has opened the window already: the compaction only follows it.
          const cause = log.checkpoint === undefined ? "repeats" : ({ cause: "manual_compact" } as const);
          return { world: { ...next, compaction: cause }, effect };
        }
        const cancelled = fact(world, { type: "control_cancelled", requestId: MANUAL });
        return tell(cancelled, { type: "manual_ended" }, "compaction");
      },
    },
    isAwaiting,
  ),
  {
    name: "the host's compaction is done",
    happen: (world) => {
      const { compaction: running } = world;
      if (running === undefined) return undefined;
      const written = running === "repeats" ? world : opened(world, "compaction", running.cause);
      return tell({ ...written, compaction: undefined }, { type: "manual_ended" }, "compaction");
    },
  },
  {
    name: "somebody else's compaction",
    happen: (world) =>
      quiet(world) ? { world: opened(world, "foreign_compaction", undefined), effect: undefined } : undefined,
  },
];

function phaseIn({ state, compaction: running }: World): Phase {
  return phaseOf(state, true, running !== undefined);
}

function effectText(effect: Effect): string {
  switch (effect.type) {
    case "refuse_tool":
      return `refuse the call (${effect.because})`;
    case "allow_tool":
      return "let the call run";
    case "open_window":
      return `open the next window (${effect.cause})`;
    case "send_control":
      return `send the ${effect.kind}`;
    case "refuse_new_context":
      return `refuse new_context (${effect.because})`;
    case "answer_nothing_to_leave":
      return "answer opened: false";
    case "run_checkpoint":
      return "ask for a checkpoint";
    case "mark_checkpoint":
      return "mark the checkpoint";
    case "consolidate":
      return "repeat the bootstrap";
    case "cancel_compaction":
      return "cancel the compaction";
    case "leave_overflow":
      return "leave it and say so";
    case "leave_to_host":
      return "leave it to the host";
    case "answer_not_opened":
      return `say that none opens (${effect.because})`;
    case "end_checkpoint_turn":
      return "end the checkpoint turn";
    case "step_aside":
      return "step aside";
    case "rest_fence":
      return "take the request back, let the call run";
  }
}

/** phase → event → what came of it, as `effect → phase`. */
type Transitions = Map<Phase, Map<string, Map<string, { readonly to: Phase; readonly effect: string }>>>;

interface Explored {
  readonly transitions: Transitions;
  readonly states: number;
}

const STATES_MAX = 100_000;

/** Every state that the events lead to, and what each event does there. */
export function explore(): Explored {
  const transitions: Transitions = new Map(PHASES.map((phase) => [phase, new Map()]));
  const first: World = { state: INITIAL_STATE, compaction: undefined };
  const seen = new Set([JSON.stringify(first)]);
  const open = [first];
  for (let world = open.pop(); world; world = open.pop()) {
    for (const event of EVENTS) {
      const outcome = event.happen(world);
      if (!outcome) continue;
      const to = phaseIn(outcome.world);
      const effect = outcome.effect ? effectText(outcome.effect) : "";
      const ofPhase = transitions.get(phaseIn(world));
      const ofEvent = ofPhase?.get(event.name) ?? new Map();
      ofPhase?.set(event.name, ofEvent.set(`${effect}|${to}`, { to, effect }));
      const key = JSON.stringify(outcome.world);
      if (seen.has(key)) continue;
      if (seen.size > STATES_MAX) throw new Error("the machine has no end of states");
      seen.add(key);
      open.push(outcome.world);
    }
  }
  return { transitions, states: seen.size };
}

function diagram(transitions: Transitions): string {
  const arrows = new Map<string, Set<string>>();
  for (const [from, events] of transitions) {
    for (const { name } of EVENTS) {
      for (const { to } of events.get(name)?.values() ?? []) {
        if (to === from) continue;
        const arrow = `${from} --> ${to}`;
        arrows.set(arrow, (arrows.get(arrow) ?? new Set()).add(name));
      }
    }
  }
  const lines = Array.from(arrows, ([arrow, names]) => `  ${arrow}: ${[...names].join("<br>")}`);
  return ["```mermaid", "stateDiagram-v2", "  [*] --> ready", ...lines, "```"].join("\n");
}

function transitionTable(transitions: Transitions): string {
  const rows = PHASES.flatMap((phase) =>
    EVENTS.flatMap(({ name }) => {
      const outcomes = [...(transitions.get(phase)?.get(name)?.values() ?? [])];
      if (outcomes.length === 0) return [];
      const shown = outcomes
        .map(({ to, effect }) => [effect, to === phase ? "" : `→ \`${to}\``].filter((part) => part !== "").join(" "))
        .map((words) => words || "nothing")
        .sort();
      // Nothing in every case is not worth a row.
      return shown.every((words) => words === "nothing") ? [] : [[`\`${phase}\``, name, shown.join("; or ")]];
    }),
  );
  return table([["phase", "event", "what happens"], ...rows]);
}

export function stateDiagram(): string {
  const { transitions, states } = explore();
  return `# The window machine

What a session's current window is in, and what leads from one phase to the next. Drawn by driving \`step\` of \`src/window/machine.ts\`: ${EVENTS.length} events are tried in each of the ${states} states they can reach (windows after the second are alike), and the names of the phases are those of \`src/window/phase.ts\`. [how-it-works.md](how-it-works.md) says what the words mean.

- \`ready\`: work goes on. \`reminded\`: the same, after the reminder.
- \`checkpoint_required\`: the fence. Every tool is refused but one write to an own note.
- \`rollover_pending\`: a window has opened and its first request has not gone out.
- \`rolling_over\`: a compaction of the host is running.
- \`disabled\` (not drawn): windows are switched off, whatever the state.

${diagram(transitions)}

## Every transition

Where an event has several outcomes, the rest of the state decides: whether the window holds any work, whether it was reminded or asked for its checkpoint before, whether a write is on its way. Events that change nothing are left out.

${transitionTable(transitions)}
`;
}
