// Every sentence a person reads about children of pi-subagents: what is missing, and what to do about it.
import { TOOL_NAMES, type ToolName } from "../tools/specs.ts";
import { FIRST_WITH_EXPORT, REQUIRED_EXPORT, SUBAGENTS_NAME } from "./discovery.ts";
import { OWN_NAME } from "./packages.ts";

const CONSEQUENCE = "Its children run without context windows and without the notes and history of this task";

export function wrongPlace(named: string, path: string, reason: string): string {
  return `${OWN_NAME}: ${named} leads to ${path}, but ${reason}. ${CONSEQUENCE}. Name the folder of ${SUBAGENTS_NAME}, or its module ${REQUIRED_EXPORT}.`;
}

/** The setting by which a person gives an agent the child entry where pi-subagents has no way for it. */
export function agentOverride(entry: string): Readonly<Record<string, unknown>> {
  return { tools: "inherit", subagentOnlyExtensions: [entry] };
}

export function noExport(version: string, entry: string): string {
  const setting = JSON.stringify({ subagents: { agentOverrides: { "<agent>": agentOverride(entry) } } });
  return (
    `${OWN_NAME}: ${SUBAGENTS_NAME} ${version} cannot be asked to load an extension into its children. ${CONSEQUENCE}. ` +
    `Update it to ${FIRST_WITH_EXPORT} or later; until then, for agents of this session, Pi's settings.json can say ${setting}`
  );
}

export function notLoaded(path: string, reason: string): string {
  return `${OWN_NAME}: the module of ${SUBAGENTS_NAME} for required child extensions could not be loaded (${path}): ${reason}. ${CONSEQUENCE}.`;
}

export function noFunction(path: string): string {
  return `${OWN_NAME}: ${path} exports no function registerRequiredChildExtensions. ${CONSEQUENCE}. Name the folder of ${SUBAGENTS_NAME}, or its module ${REQUIRED_EXPORT}.`;
}

export function ownedByOther(id: string, entry: string): string {
  return (
    `${OWN_NAME}: another extension has registered the required child extensions of this session with ${SUBAGENTS_NAME}, ` +
    `and there can be only one. ${CONSEQUENCE}. That extension can add ${JSON.stringify({ id, path: entry })} to its list, ` +
    `or call createTokenBudgetExtension of ${OWN_NAME}/api in an entry of its own.`
  );
}

export function notRegistered(reason: string): string {
  return `${OWN_NAME}: ${SUBAGENTS_NAME} did not take the children's entry: ${reason}. ${CONSEQUENCE}.`;
}

/** Which of this package's tools a session lacks. */
export function missingTools(toolNames: readonly string[]): readonly ToolName[] {
  const present = new Set(toolNames);
  return TOOL_NAMES.filter((name) => !present.has(name));
}

/** The one message of a child whose tool list leaves some out; undefined when it has all. */
export function missingToolsNotice(agent: string, toolNames: readonly string[]): string | undefined {
  const missing = missingTools(toolNames);
  if (missing.length === 0) return undefined;
  const which = missing.length === TOOL_NAMES.length ? "none of the tools" : "not all tools";
  return `${OWN_NAME}: ${agent} has ${which} of this package, because its list of tools leaves them out. To give it all, add to that list: ${missing.join(", ")}`;
}
