// What the live index keeps in memory of a session, also when all of it has been searched, against the session's entries; and
// what reading another agent's journal takes. Each in a process of its own: what others left behind would be counted too.
import { execFileSync } from "node:child_process";
import type { MemoryFigures } from "./children/remembering.ts";
import type { Group } from "./group.ts";
import { program } from "./program.ts";

function figures(items: number): MemoryFigures {
  const args = ["--expose-gc", program("remembering"), String(items)];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" })) as MemoryFigures;
}

export function memoryGroups(items: number): Group[] {
  const make = () => {
    const shown = `${items.toLocaleString("en-US")} items, in MB`;
    const race = { against: "the host's own entries", goal: 0.25, isFigure: true, samplesMin: 1 } as const;
    let made: MemoryFigures | undefined;
    const of = (name: keyof MemoryFigures) => () => {
      made ??= figures(items);
      return made[name];
    };
    return {
      races: [
        { ...race, name: `index in memory, ${shown}`, ours: of("indexMb"), reference: of("entriesMb") },
        {
          ...race,
          name: `index in memory after searches, ${shown}`,
          ours: of("searchedMb"),
          reference: of("entriesMb"),
        },
      ],
    };
  };
  return [{ topic: "memory", make }];
}
