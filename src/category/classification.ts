// What a session's content is, from the registry of its root task and from its own log: the stricter of the two. Pure.
import { shownValue } from "../errors.ts";
import type { Category } from "../task/category.ts";
import type { LogCategory } from "./log.ts";

export interface Registered {
  readonly category: Category;
  /** When a person decided it, ISO 8601. */
  readonly decided?: string;
}

export type RegistryCategory =
  | ({ readonly type: "said" } & Registered)
  /** The registry cannot be read, or breaks a rule. */
  | { readonly type: "unreadable"; readonly problem: string };

export type Classification =
  | { readonly type: "known"; readonly category: Category }
  /** The sources disagree or cannot be read: nothing is sent anywhere, and nothing of others is read. */
  | { readonly type: "unknown"; readonly problem: string };

export interface ClassificationFacts {
  readonly registry: RegistryCategory;
  readonly log: LogCategory;
  /** A child that has written nothing yet may have its parent's category. */
  readonly isChild: boolean;
}

function known(category: Category): Classification {
  return { type: "known", category };
}

function unknown(problem: string): Classification {
  return { type: "unknown", problem };
}

/** What the log said before a person decided is outdated, though it may be the same. */
export function isOutdated(log: LogCategory, { decided }: Registered): boolean {
  return log.type === "said" && decided !== undefined && Date.parse(decided) > log.at;
}

const BY_HAND = "Say what it is with /category and a label, or /category none.";

export function classify({ registry, log, isChild }: ClassificationFacts): Classification {
  if (log.type === "damaged") {
    return unknown(`The newest category entry of this session's log cannot be read. ${BY_HAND}`);
  }
  const said = log.type === "said" ? log.category : null;
  if (registry.type === "unreadable") {
    const mayBeOrdinary = said === null && !(isChild && log.type === "silent");
    return mayBeOrdinary ? known(null) : unknown(registry.problem);
  }
  const { category } = registry;
  if (isOutdated(log, registry)) return known(category);
  if (said === null || said === category) return known(category);
  if (category === null) return known(said);
  return unknown(
    `This session's log says that its content is of category ${shownValue(said)}, and the registry of its root task says ${shownValue(category)}. ${BY_HAND}`,
  );
}

/**
 * What another agent's content is: the stricter of the registry and what its log says last. Undefined when they name
 * two categories or the log cannot be read; then no agent may read it.
 */
export function ownerCategory({ category, decided }: Registered, log: LogCategory): Category | undefined {
  const registered = { category, ...(decided === undefined ? {} : { decided }) };
  const classification = classify({ registry: { type: "said", ...registered }, log, isChild: false });
  return classification.type === "known" ? classification.category : undefined;
}
