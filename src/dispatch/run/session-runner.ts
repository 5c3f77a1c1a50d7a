// Runs a task as a child Pi session in this process, joined to the root task by this package's own extension.
import { agentDirectory } from "../../host/agent-dir.ts";
import { type ChildSession, type HostSdk, loadHostSdk, openChildSession } from "../../host/sdk.ts";
import type { TaskMembership } from "../../task/context.ts";
import type { Runner, RunRequest } from "../runner.ts";
import { eventsOf } from "./pi-events.ts";

/** The extension that joins a child to the root task; `onProblem` gets the reason when it could not. */
export type ChildExtension = (membership: TaskMembership, onProblem?: (problem: Error) => void) => unknown;

export interface SessionRunnerOptions {
  readonly childExtension: ChildExtension;
  /** The host's SDK; looked for when left out. */
  readonly sdk?: (() => Promise<unknown>) | undefined;
  /** The dispatching session's models, as its extensions see them. */
  readonly models?: (() => unknown) | undefined;
  /** More extensions for the child: factories, and paths that Pi's loader takes. */
  readonly extensions?: readonly unknown[] | undefined;
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

/** The part of Pi's extension API that replaces a system prompt. */
interface PromptApi {
  on(event: "before_agent_start", handler: () => { systemPrompt: string }): void;
}

export function sessionRunner(options: SessionRunnerOptions): Runner {
  return { name: "session", choosesModels: false, run: (request) => runSession(options, request) };
}

async function runSession(options: SessionRunnerOptions, request: RunRequest): Promise<void> {
  const { signal, onEvent } = request;
  signal.throwIfAborted();
  const fixedPrompt = (pi: PromptApi) => pi.on("before_agent_start", () => ({ systemPrompt: request.systemPrompt }));
  const extensions = options.extensions ?? [];
  let problem: Error | undefined;
  const onProblem = (met: Error) => {
    problem = met;
  };
  const session = await openChildSession({
    sdk: options.sdk === undefined ? await loadHostSdk() : ((await options.sdk()) as HostSdk),
    cwd: request.cwd,
    agentDir: agentDirectory(options.env ?? process.env),
    models: options.models?.(),
    model: request.model,
    // First the prompt: this package appends to it.
    factories: [
      fixedPrompt,
      ...extensions.filter((extension) => typeof extension !== "string"),
      options.childExtension(request.membership, onProblem),
    ],
    paths: extensions.filter((extension) => typeof extension === "string"),
    onEvent: (event) => {
      for (const each of eventsOf(event)) onEvent(each);
    },
  });
  if (problem !== undefined) {
    await session.end();
    throw new Error(`the child could not join the root task: ${(problem as Error).message}`);
  }
  await untilSettled(session, request);
}

async function untilSettled(session: ChildSession, { prompt, signal }: RunRequest): Promise<void> {
  const onAbort = () => void session.abort().catch(() => undefined);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    signal.throwIfAborted();
    await session.prompt(prompt);
    signal.throwIfAborted();
  } finally {
    signal.removeEventListener("abort", onAbort);
    await session.end();
  }
}
