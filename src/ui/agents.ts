// The lines about the other agents of a root task: what each was asked, and what it runs without. Pure.
import type { ListedAgent } from "../session/access.ts";
import { agentName } from "../task/addresses.ts";
import { TOOL_NAMES } from "../tools/specs.ts";

const LINES_MAX = 20;
const NAMED_TOOLS_MAX = 3;

/** Tools that an agent runs without, in few words. */
export function lackingText(lacks: readonly string[]): string {
  if (lacks.length === TOOL_NAMES.length) return "without the tools of this package";
  if (lacks.length <= NAMED_TOOLS_MAX) return `without ${lacks.join(", ")}`;
  return `without ${lacks.length} of the ${TOOL_NAMES.length} tools of this package`;
}

/** A line for each agent of which there is something to say, the newest last. */
export function agentLines(agents: readonly ListedAgent[]): readonly string[] {
  const lines = agents.flatMap(({ address, lacks, request, running }) => {
    if (lacks.length === 0 && request === undefined) return [];
    const remarks = [...(running ? [] : ["ended"]), ...(lacks.length === 0 ? [] : [lackingText(lacks)])];
    const remark = remarks.length === 0 ? "" : ` (${remarks.join(", ")})`;
    return [`${agentName(address)}${remark}${request === undefined ? "" : `: ${request}`}`];
  });
  return lines.slice(-LINES_MAX);
}
