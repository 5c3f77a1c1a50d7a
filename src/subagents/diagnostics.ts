// Every sentence a person reads about children of pi-subagents: what is missing, and what to do about it.

import { OWN_NAME } from "../packages/own.ts";
import { agentName } from "../task/addresses.ts";
import { TOOL_NAMES, type ToolName } from "../tools/specs.ts";
import { FIRST_WITH_EXPORT, MODULE_VARIABLE, REQUIRED_EXPORT, SUBAGENTS_NAME } from "./discovery.ts";

/** The first version that drops the names of extensions' tools from an agent's list. */
const FIRST_WITHOUT_NAMES = "0.67.0";

const CONSEQUENCE = "Its children run without context windows and without the notes and history of this task";

export function wrongPlace(named: string, path: string, reason: string): string {
  return `${OWN_NAME}: ${named} leads to ${path}, but ${reason}. ${CONSEQUENCE}. Name the folder of ${SUBAGENTS_NAME}, or its module ${REQUIRED_EXPORT}.`;
}

/** The setting by which a person gives an agent the child entry where pi-subagents has no way for it. */
export function agentOverride(entry: string): Readonly<Record<string, unknown>> {
  return { tools: "inherit", subagentOnlyExtensions: [entry] };
}

/** A setting of agents of pi-subagents, as it is written in Pi's settings.json. */
function agentSetting(agent: string, override: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ subagents: { agentOverrides: { [agent]: override } } });
}

/** What gives an agent of a session the package by hand. */
function byHand(entry: string): string {
  return `until then, for agents of this session, put this into Pi's settings.json and start Pi again: ${agentSetting("<agent>", agentOverride(entry))}`;
}

export function noExport(version: string, entry: string): string {
  return (
    `${OWN_NAME}: ${SUBAGENTS_NAME} ${version} cannot be asked to load an extension into its children. ${CONSEQUENCE}. ` +
    `Update it to ${FIRST_WITH_EXPORT} or later; ${byHand(entry)}`
  );
}

export function notLoaded(path: string, reason: string): string {
  return `${OWN_NAME}: the module of ${SUBAGENTS_NAME} for required child extensions could not be loaded (${path}): ${reason}. ${CONSEQUENCE}. Install ${SUBAGENTS_NAME} again, or name the folder of one that is whole in ${MODULE_VARIABLE}.`;
}

export function noFunction(path: string): string {
  return `${OWN_NAME}: ${path} exports no function registerRequiredChildExtensions. ${CONSEQUENCE}. Name the folder of ${SUBAGENTS_NAME}, or its module ${REQUIRED_EXPORT}.`;
}

export function ownedByOther(id: string, entry: string): string {
  return (
    `${OWN_NAME}: another extension has registered the required child extensions of this session with ${SUBAGENTS_NAME}, ` +
    `and there can be only one. ${CONSEQUENCE}. That extension can add ${JSON.stringify({ id, path: entry })} to its list, ` +
    `or under that id an entry of its own that calls createTokenBudgetExtension of ${OWN_NAME}/api with the task.`
  );
}

export function notRegistered(reason: string, entry?: string): string {
  const wayOut = entry === undefined ? "" : ` Mend that; ${byHand(entry)}`;
  return `${OWN_NAME}: ${SUBAGENTS_NAME} did not take the children's entry: ${reason}. ${CONSEQUENCE}.${wayOut}`;
}

/** Which of this package's registered tools a session lacks. */
export function missingTools(
  toolNames: readonly string[],
  registered: readonly string[] = TOOL_NAMES,
): readonly ToolName[] {
  const present = new Set(toolNames);
  return TOOL_NAMES.filter((name) => registered.includes(name) && !present.has(name));
}

/** A child that runs without some tools of this package. */
export interface LackingChild {
  /** Its address. */
  readonly agent: string;
  /** The agent of pi-subagents that it is, if it is one. */
  readonly subagent: string | undefined;
  readonly lacks: readonly string[];
}

/** What gives a child the tools it lacks. */
export function lackingMend({ subagent, lacks }: Omit<LackingChild, "agent">): string {
  if (subagent === undefined) return `To give it all, add to that list: ${lacks.join(", ")}`;
  const isAll = lacks.length === TOOL_NAMES.length;
  return (
    `Leave tools: out of the definition of ${subagent}, or say in Pi's settings.json ` +
    `${agentSetting(subagent, { tools: "inherit" })} (start Pi again after that). ${SUBAGENTS_NAME} ${FIRST_WITHOUT_NAMES} drops ` +
    `names of extensions' tools from a tools: list, so adding them there does not help; earlier versions take them` +
    (isAll ? "." : `. What stands in excludeTools stays out: take ${lacks.join(", ")} out there.`)
  );
}

/** The message of a child whose tool list leaves some out. */
export function lackingNotice(child: LackingChild): string {
  const { agent, lacks } = child;
  const which = lacks.length === TOOL_NAMES.length ? "none of the tools" : "not all tools";
  return `${OWN_NAME}: ${agentName(agent)} has ${which} of this package, because its list of tools leaves them out. ${lackingMend(child)}`;
}

/** A parent's message about running children that are no agents of its task. */
export function strayText(files: readonly string[]): string {
  const [first = ""] = files;
  const others = files.length === 1 ? "" : ` and ${files.length - 1} more`;
  return `${files.length === 1 ? "1 child" : `${files.length} children`} of ${SUBAGENTS_NAME} ran without this package: ${first}${others}`;
}

export const STRAY_MEND =
  "What kept it out stands in the answer of the subagent tool or in an earlier warning: an agent's denyExtensions, a package that has moved (start this session again), or one of these sessions that could not join.";
