// What a dispatcher is made of. Types only.
import type { DispatchParent, RouteDoor } from "./parent.ts";
import type { Quota } from "./quota.ts";
import type { Runner } from "./runner.ts";
import type { RunLimits, TaskSettings } from "./settings.ts";
import type { TaskView } from "./task-view.ts";

export interface DispatcherParts {
  readonly parent: DispatchParent;
  /** Replaces the parent's router. */
  readonly route?: RouteDoor | undefined;
  /** The first is the default. */
  readonly runners: readonly Runner[];
  readonly settings: () => TaskSettings;
  /** Asked in addition to the setting. */
  readonly quota?: Quota | undefined;
  /** Relative attachments are below it. */
  readonly baseDirectory: string;
  readonly limits?: Partial<RunLimits> | undefined;
  /** Called with problems that belong to no task's record. */
  readonly report?: ((problem: string) => void) | undefined;
  /** Told of tasks that were found without their process, after their end was stored. */
  readonly interrupted?: ((tasks: readonly TaskView[]) => void) | undefined;
}
