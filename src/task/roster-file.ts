// The registry's file format: agents as JSON, with paths relative to the storage so that it can be moved whole. Every
// field is checked on the way in; the message names the field. Pure.

import { isAbsolute, join, relative, sep } from "node:path";
import { shownValue } from "../errors.ts";
import { isRecord } from "../shapes.ts";
import { isAddress } from "./addresses.ts";
import { parseCategory } from "./category.ts";
import { isAbsolutePath, isId, type TaskContext } from "./context.ts";
import { type AgentState, type Roster, type RosterAgent, rosterProblem } from "./roster.ts";

/** One field of an agent: the rule as words, and as a check. */
interface FieldRule {
  readonly rule: string;
  fits(value: unknown): boolean;
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "" && value.isWellFormed();
}

function isRelativePath(value: unknown): boolean {
  if (typeof value !== "string" || value.includes("\0") || value.includes("\\") || isAbsolute(value)) return false;
  return value.split("/").every((segment) => segment !== "" && segment !== "." && segment !== "..");
}

function isLabel(value: unknown): boolean {
  try {
    return parseCategory(value) === value;
  } catch {
    return false;
  }
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isText);
}

function isProcessPlace(value: unknown): boolean {
  if (!isRecord(value)) return false;
  return [value.host, value.boot, value.pids].every(isText) && (value.machine === null || isText(value.machine));
}

function isState(value: unknown): value is AgentState {
  if (!isRecord(value)) return false;
  if (value.type === "ended") return true;
  const { type, pid, processStart, place } = value;
  return (
    type === "running" &&
    Number.isSafeInteger(pid) &&
    Number(pid) > 0 &&
    (processStart === null || typeof processStart === "string") &&
    (place === undefined || isProcessPlace(place))
  );
}

const ADDRESS: FieldRule = { rule: "an agent address", fits: (v) => typeof v === "string" && isAddress(v) };
const PLACE: FieldRule = { rule: "a path below the storage", fits: isRelativePath };

function isTime(value: unknown): boolean {
  return typeof value === "string" && !Number.isNaN(Date.parse(value));
}

const AGENT_RULES: Readonly<Record<keyof RosterAgent, FieldRule>> = {
  address: ADDRESS,
  parent: { rule: "an agent address or null", fits: (v) => v === null || ADDRESS.fits(v) },
  sessionKey: { rule: "a text", fits: isText },
  sessionId: { rule: "a session id", fits: isId },
  sessionFile: { rule: "an absolute path or null", fits: (v) => v === null || isAbsolutePath(v) },
  notesRoot: PLACE,
  historyDir: PLACE,
  category: { rule: "a category label or null", fits: isLabel },
  categoryOwn: { rule: "true or false", fits: (v) => typeof v === "boolean" },
  created: { rule: "a time", fits: isTime },
  decided: { rule: "a time, or left out", fits: (v) => v === undefined || isTime(v) },
  subagent: { rule: "a text, or left out", fits: (v) => v === undefined || isText(v) },
  lacks: { rule: "a list of texts, or left out", fits: (v) => v === undefined || isTexts(v) },
  state: { rule: 'an object of type "running" with a pid, or "ended"', fits: isState },
};
const AGENT_FIELDS = Object.keys(AGENT_RULES) as (keyof RosterAgent)[];

function agentProblem(agent: unknown, at: string): string | undefined {
  if (!isRecord(agent)) return `${at} is ${shownValue(agent)}, not an object`;
  const wrong = AGENT_FIELDS.find((field) => !AGENT_RULES[field].fits(agent[field]));
  if (wrong !== undefined) return `${at}.${wrong} is ${shownValue(agent[wrong])}, not ${AGENT_RULES[wrong].rule}`;
  const unknown = Object.keys(agent).find((field) => !Object.hasOwn(AGENT_RULES, field));
  return unknown === undefined ? undefined : `${at} has the unknown field ${shownValue(unknown)}`;
}

function fieldsProblem(fields: Readonly<Record<string, unknown>>, context: TaskContext): string | undefined {
  for (const field of ["runId", "rootSessionId"] as const) {
    if (fields[field] === context[field]) continue;
    return `its ${field} is ${shownValue(fields[field])}, not ${shownValue(context[field])}: it belongs to another root task`;
  }
  const { agents } = fields;
  if (!Array.isArray(agents)) return `agents is ${shownValue(agents)}, not a list`;
  for (const [at, agent] of agents.entries()) {
    const problem = agentProblem(agent, `agents[${at}]`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

export type ParsedRoster =
  | { readonly type: "roster"; readonly roster: Roster }
  | { readonly type: "damaged"; readonly problem: string }
  /** Every field is well formed, but the agents break a rule together. */
  | { readonly type: "refused"; readonly problem: string };

export function parseRoster(fields: Readonly<Record<string, unknown>>, context: TaskContext): ParsedRoster {
  const problem = fieldsProblem(fields, context);
  if (problem !== undefined) return { type: "damaged", problem };
  const place = (path: string) => join(context.storageRoot, ...path.split("/"));
  const roster = (fields.agents as RosterAgent[]).map((agent) => ({
    ...agent,
    notesRoot: place(agent.notesRoot),
    historyDir: place(agent.historyDir),
  }));
  const broken = rosterProblem(roster);
  return broken === undefined ? { type: "roster", roster } : { type: "refused", problem: broken };
}

/** What is written for a roster. */
export function rosterFields(roster: Roster, context: TaskContext): Readonly<Record<string, unknown>> {
  const place = (path: string) => relative(context.storageRoot, path).split(sep).join("/");
  const agents = roster.map((agent) => ({
    ...agent,
    notesRoot: place(agent.notesRoot),
    historyDir: place(agent.historyDir),
  }));
  return { runId: context.runId, rootSessionId: context.rootSessionId, agents };
}
