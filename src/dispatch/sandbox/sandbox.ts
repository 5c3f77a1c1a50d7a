// Where children of the runner `cli` run other than beside us with our own rights. Types only.
import type { TaskMembership } from "../../task/context.ts";

/** A child process of a task, as it would be started without a sandbox. */
export interface ChildProcess {
  readonly taskId: string;
  readonly program: string;
  readonly args: readonly string[];
  /** The directory of the task; absolute. */
  readonly cwd: string;
  /** Whether that is a directory of a person's, and not one of the task alone. */
  readonly isNamedCwd: boolean;
  /** The folder of what belongs to this child alone: its extensions. */
  readonly folder: string;
  readonly membership: TaskMembership;
  /** The folder of this package. */
  readonly packageRoot: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The process to start instead. */
export interface SandboxedProcess {
  readonly program: string;
  readonly args: readonly string[];
}

export interface Sandbox {
  /** As records and people name it. */
  readonly name: string;
  /** How Pi is started inside, where no setting says it; left out, as outside. */
  readonly pi?: readonly string[];
  /** Rejects, with what to do about it, where no child can run in it: asked before anything is stored. */
  assertReady(task: { readonly cwd: string | null; readonly env: ChildProcess["env"] }): Promise<void>;
  enter(child: ChildProcess): SandboxedProcess | Promise<SandboxedProcess>;
}
