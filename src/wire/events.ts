// Every event of the host and its steps, in order. Only this file decides the order of steps; each is described where it is
// made. A step that fails is reported once and does not stop the next ones.
//
// One event is missing: the last one before the host chooses a model differs by host, so the guard of categories listens to it
// once a session is known (category.ts).
import type { Host } from "../host/host.ts";
import type { SessionTodos } from "../ui/todo.ts";
import type { boundarySteps } from "./boundary.ts";
import type { categorySteps } from "./category.ts";
import type { childrenSteps } from "./children.ts";
import type { compactionSteps } from "./compactions.ts";
import type { footerSteps } from "./footer.ts";
import type { journalSteps } from "./journal.ts";
import type { lifecycleSteps } from "./lifecycle.ts";
import type { loopSteps } from "./loop.ts";
import type { planSteps } from "./plans.ts";
import type { requiredTaskSteps } from "./required.ts";
import type { launcherSteps } from "./root-task.ts";
import type { taskSteps } from "./tasks.ts";

export interface Steps {
  readonly lifecycle: ReturnType<typeof lifecycleSteps>;
  readonly launcher: ReturnType<typeof launcherSteps>;
  readonly journal: ReturnType<typeof journalSteps>;
  readonly children: ReturnType<typeof childrenSteps>;
  readonly tasks: ReturnType<typeof taskSteps>;
  readonly loop: ReturnType<typeof loopSteps>;
  readonly compactions: ReturnType<typeof compactionSteps>;
  readonly boundary: ReturnType<typeof boundarySteps>;
  readonly footer: ReturnType<typeof footerSteps>;
  readonly todos: ReturnType<SessionTodos["steps"]>;
  readonly plans: ReturnType<typeof planSteps>;
  readonly required: ReturnType<typeof requiredTaskSteps>;
  readonly category: ReturnType<typeof categorySteps>;
}

export function listen(host: Host, steps: Steps): void {
  sessionEvents(host, steps);
  runEvents(host, steps);
  toolEvents(host, steps);
  compactionEvents(host, steps);
  treeEvents(host, steps);
}

function sessionEvents(host: Host, steps: Steps): void {
  const { lifecycle, launcher, journal, children, tasks, loop, compactions, boundary } = steps;
  const { footer, todos, plans, required, category } = steps;
  host.at(
    "session_start",
    () => host.notices.hold(),
    host.answers.passed,
    lifecycle.open,
    launcher.announce,
    children.register,
    tasks.endInterrupted,
    loop.measurePrompt,
    compactions.listenToEditor,
    footer.sessionStarted,
    todos.sessionStarted,
    required.check,
    // It needs the session's parts, and places the session on the model of its first request.
    category.sessionStarted,
    // Others read there what it is.
    journal.sync,
  );
  host.at(
    "session_shutdown",
    lifecycle.close,
    launcher.withdraw,
    journal.close,
    children.close,
    tasks.close,
    compactions.close,
    boundary.settled.close,
    footer.close,
    plans.close,
    // No other step writes after this.
    lifecycle.leave,
  );
}

function runEvents(host: Host, steps: Steps): void {
  const { journal, children, loop, compactions, boundary, footer, todos, required, category } = steps;
  host.at("model_select", category.modelSelected, loop.modelSelected, footer.draw);
  host.at("input", host.answers.passed, category.promptComes, boundary.waitForConsolidation);
  const { tasks } = steps;
  // The guard comes first, so that the others see the right model.
  host.at(
    "before_agent_start",
    category.runBegins,
    children.waitForRegistration,
    loop.guide,
    tasks.tellEnds,
    boundary.settled.prompted,
  );
  host.at(
    "agent_start",
    () => host.notices.release(),
    host.answers.passed,
    host.runs.started,
    journal.runStarted,
    loop.runStarted,
    compactions.runStarted,
    boundary.settled.cancel,
    todos.running,
  );
  host.at(
    "context",
    host.answers.passed,
    loop.request,
    footer.draw,
    todos.running,
    required.stopRequest,
    // Last: the steps after it could not read a request that it stops.
    category.requestGoes,
  );
  host.at("cache_warming_decision", category.cacheIsWarmed);
  host.at(
    "agent_end",
    host.runs.ended,
    journal.runEnded,
    children.runEnded,
    boundary.settled.runEnded,
    footer.draw,
    todos.idle,
  );
  host.at("agent_settled", boundary.settled.hostSettled, footer.draw, host.runs.settled);
}

function toolEvents(host: Host, { journal, children, loop, footer }: Steps): void {
  host.at("tool_call", host.answers.passed, journal.show, loop.judgeCall);
  host.at("tool_result", journal.show, children.toolEnded, loop.toolEnded, footer.draw);
}

function compactionEvents(host: Host, steps: Steps): void {
  const { journal, loop, compactions, boundary, footer, todos, category } = steps;
  host.at(
    "session_before_compact",
    category.compactionStarts,
    // It waits for the checkpoint turn, so that what comes after it comes after that turn too.
    compactions.start,
    boundary.settled.cancel,
    footer.draw,
  );
  host.at(
    "session_compact",
    () => host.notices.release(),
    host.answers.passed,
    journal.sync,
    loop.logIsRead,
    compactions.ended,
    boundary.settled.compacted,
    footer.draw,
    todos.idle,
  );
  host.at("session_compact_failed", () => host.notices.release(), compactions.failed);
}

function treeEvents(host: Host, steps: Steps): void {
  const { lifecycle, journal, tasks, loop, compactions, footer, todos, category } = steps;
  host.at("session_before_switch", tasks.leave);
  host.at("session_before_tree", category.treeIsWalked, compactions.holdTree);
  host.at("session_before_fork", compactions.holdFork, tasks.leave);
  host.at(
    "session_tree",
    host.answers.passed,
    lifecycle.treeWalked,
    journal.sync,
    loop.logIsRead,
    loop.publish,
    footer.draw,
    todos.rebuilt,
  );
}
