// Opens the root task of a session: finds its place, and sets the session apart or makes it a root where it cannot have it.
import type { Category } from "./category.ts";
import { Locators } from "./locator.ts";
import { type OpenTaskOptions, SessionTask } from "./membership.ts";
import { foundSeat, memberSeat, ownRoot, ownSeat, type Seat, withUsableId } from "./seats.ts";

const STAYS_APART = "The session continues apart from the task: it can neither read nor write anything there.";
const SENDS_NOTHING = "Its task is required, so this session sends nothing to a model.";

/**
 * The root task of a session. Never throws: whatever is wrong is reported. A session that was given a task and cannot have
 * its place there is apart; any other is the root of its own.
 */
export function openTask(options: OpenTaskOptions): SessionTask {
  const identity = withUsableId(options.identity);
  const reported = new Set<string>();
  const report = (problem: string) => {
    if (reported.has(problem)) return;
    reported.add(problem);
    options.report?.(problem);
  };
  const open = (seat: Seat) => {
    const { parent, context } = seat;
    // A root is known by the id of its task: that of a copy is not the id in its file.
    const sessionId =
      parent === null && identity.sessionFile !== undefined ? context.rootSessionId : identity.sessionId;
    return new SessionTask({ ...options, identity: { ...identity, sessionId }, report }, seat);
  };
  const alone = (problem: string, category: Category) => {
    report(problem);
    return open({ ...ownRoot(identity, options.agentDir, category), locate: false });
  };
  const { membership, category = null } = options;
  const locators = new Locators(options);
  const seat = membership ? memberSeat({ ...options, identity }, membership) : foundSeat(locators.find(identity));
  if (seat === undefined) return open(ownSeat({ ...options, identity }, locators));
  if (!("address" in seat)) return alone(seat.problem, category);
  const task = open(seat);
  const refusal = task.refusal();
  if (refusal === undefined) return task;
  const { problem, category: strictest } = refusal;
  if (!membership) return alone(`${problem.message} The session continues as a root task of its own.`, strictest);
  report(`${problem.message} ${membership.required ? SENDS_NOTHING : STAYS_APART}`);
  return open({ ...ownRoot(identity, options.agentDir, strictest), locate: false, problem });
}
