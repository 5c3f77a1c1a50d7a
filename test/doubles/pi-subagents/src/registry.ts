// Where registrations live: one map for all instances of the package in a process, made when it is first needed.
const REGISTRY = Symbol.for("pi-subagents.required-child-extensions.v1");

export interface RequiredChildExtension {
  readonly id: string;
  /** A real path. */
  readonly path: string;
}

export type Snapshot = readonly RequiredChildExtension[];

interface Registry {
  readonly version: 1;
  readonly bySession: Map<string, Snapshot>;
}

function isRegistry(value: unknown): value is Registry {
  if (typeof value !== "object" || value === null) return false;
  const { version, bySession } = value as Partial<Registry>;
  return version === 1 && bySession instanceof Map;
}

export function registrations(): Map<string, Snapshot> {
  const present: unknown = Reflect.get(globalThis, REGISTRY);
  if (present === undefined) {
    const made: Registry = { version: 1, bySession: new Map() };
    Reflect.set(globalThis, REGISTRY, made);
    return made.bySession;
  }
  if (!isRegistry(present)) throw new Error("The required child extension registry of this process has another shape.");
  return present.bySession;
}

/** What a launch from this session loads into the child: what the session itself inherited, else its registration. */
export function requiredFor(parentSessionId: string, inherited?: Snapshot): Snapshot {
  return inherited ?? registrations().get(parentSessionId) ?? [];
}
