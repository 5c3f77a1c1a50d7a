// What is wrong with the children of a session, as its registry and the files of its launcher say. Only looks.
import type { Session } from "../session/session.ts";
import { strays } from "../subagents/strays.ts";
import { isBelow } from "../task/addresses.ts";
import type { TaskAgent } from "../task/roster.ts";

export interface ChildProblems {
  /** Of each kind of child, the newest when it runs without some of the tools. */
  readonly lacking: readonly TaskAgent[];
  /** Session files of children that are no agents of the task. */
  readonly strays: readonly string[];
}

/** What is wrong with the children of a session since it started; nothing when the registry cannot be read. */
export function childProblems({ task, agent, sessionFile }: Session, sinceMs: number): ChildProblems {
  try {
    const agents = task.agents();
    const newest = new Map<string, TaskAgent>();
    for (const child of agents) {
      if (isBelow(child.address, agent)) newest.set(child.subagent ?? child.address, child);
    }
    const files = new Set(agents.flatMap(({ sessionFile: file }) => file ?? []));
    return {
      lacking: [...newest.values()].filter(({ lacks, subagent, running }) => lacks && (subagent ?? running)),
      strays: strays({ sessionFile, agents: files, sinceMs }),
    };
  } catch {
    // What is wrong with the registry is reported elsewhere.
    return { lacking: [], strays: [] };
  }
}
