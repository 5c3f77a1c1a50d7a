// Where children of the runner `cli` run other than beside us with our own rights. Types only.
import type { TaskMembership } from "../../task/context.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** A child process of a task, as it would be started without a sandbox. */
export interface ChildProcess {
  readonly taskId: string;
  readonly program: string;
  readonly args: readonly string[];
  /** What goes to its standard input. */
  readonly prompt: string;
  /** The directory of the task; absolute. */
  readonly cwd: string;
  /** Whether that is a directory of a person's, and not one of the task alone. */
  readonly isNamedCwd: boolean;
  /** The folder of what belongs to this child alone: its extensions. */
  readonly folder: string;
  readonly membership: TaskMembership;
  /** The folder of this package. */
  readonly packageRoot: string;
  readonly env: Environment;
}

/** The process to start instead. */
export interface SandboxedProcess {
  readonly program: string;
  readonly args: readonly string[];
  /** Whether its standard input stays open and empty for as long as the child is wanted. */
  readonly holdsInput?: boolean;
  /** Called once, when it has ended however that was; rejects where what the child has made could not be had. */
  leave?(): Promise<void>;
}

/** A task that may run in a sandbox. */
export interface SandboxTask {
  /** The directory that was named for it; null for a fresh one. */
  readonly cwd: string | null;
  /** Pi, as it would be started. */
  readonly program: string;
  readonly packageRoot: string;
  readonly env: Environment;
}

export interface Sandbox {
  /** As records and people name it. */
  readonly name: string;
  /** How Pi is started inside, where no setting says it; left out, as outside. */
  readonly pi?: readonly string[];
  /** Rejects, with what to do about it, where no child can run in it: asked before anything is stored. */
  assertReady(task: SandboxTask): Promise<void>;
  enter(child: ChildProcess): SandboxedProcess | Promise<SandboxedProcess>;
}
