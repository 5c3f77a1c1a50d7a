// The registry's file format: agents as JSON, with paths relative to the storage so that it can be moved whole. Pure.
//
// {"runId":"5f…","rootSessionId":"5f…","agents":[{"address":"/root","parent":null,"state":{"type":"ended"},…}],"version":1}
import { isAbsolute, join, relative, sep } from "node:path";
import { shownValue } from "../errors.ts";
import { type TSchema, Type } from "../schema.ts";
import { ruled, schemaProblem } from "../schema-check.ts";
import type { Parsed } from "../storage/json-store.ts";
import { isAddress } from "./addresses.ts";
import { parseCategory } from "./category.ts";
import { isAbsolutePath, isId, type TaskContext } from "./context.ts";
import type { Roster, RosterAgent } from "./roster.ts";

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "" && value.isWellFormed();
}

function isTime(value: unknown): boolean {
  return typeof value === "string" && !Number.isNaN(Date.parse(value));
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

const closed = { additionalProperties: false } as const;
const text = () => ruled<string>("a text", isText);
const time = () => ruled<string>("a time", isTime);
const folder = () => ruled<string>("a path below the storage", isRelativePath);
const orNull = (rule: string, fits: (value: unknown) => boolean) =>
  ruled<string | null>(`${rule} or null`, (value) => value === null || fits(value));
const isAgentAddress = (value: unknown) => typeof value === "string" && isAddress(value);

/** Where processes are seen: fields that a later version adds are kept. */
const PlaceSchema = Type.Object({
  host: text(),
  boot: text(),
  pids: text(),
  machine: orNull("a text", isText),
});
const RunningSchema = Type.Object({
  type: Type.Literal("running"),
  pid: Type.Integer({ minimum: 1 }),
  processStart: orNull("a text", (value) => typeof value === "string"),
  place: Type.Optional(PlaceSchema),
});
const EndedSchema = Type.Object({ type: Type.Literal("ended") });

const AGENT_FIELDS: Readonly<Record<keyof RosterAgent, TSchema>> = {
  address: ruled("an agent address", isAgentAddress),
  parent: orNull("an agent address", isAgentAddress),
  sessionKey: text(),
  sessionId: ruled("a session id", isId),
  sessionFile: orNull("an absolute path", isAbsolutePath),
  notesRoot: folder(),
  historyDir: folder(),
  category: ruled("a category label or null", isLabel),
  categoryOwn: Type.Boolean(),
  created: time(),
  decided: Type.Optional(time()),
  subagent: Type.Optional(text()),
  lacks: Type.Optional(Type.Array(text(), { minItems: 1 })),
  state: Type.Union([EndedSchema, RunningSchema]),
};
const AgentsSchema = Type.Array(Type.Object(AGENT_FIELDS, closed));

/** Every field is well formed; whether the agents keep the rules together is `rosterProblem`. */
export function parseRoster(
  { agents, ...fields }: Readonly<Record<string, unknown>>,
  context: TaskContext,
): Parsed<Roster> {
  for (const field of ["runId", "rootSessionId"] as const) {
    if (fields[field] === context[field]) continue;
    const problem = `its ${field} is ${shownValue(fields[field])}, not ${shownValue(context[field])}: it belongs to another root task`;
    return { type: "damaged", problem };
  }
  const problem = schemaProblem(AgentsSchema, agents, "agents");
  if (problem !== undefined) return { type: "damaged", problem };
  const place = (path: string) => join(context.storageRoot, ...path.split("/"));
  const value = (agents as RosterAgent[]).map((agent) => ({
    ...agent,
    notesRoot: place(agent.notesRoot),
    historyDir: place(agent.historyDir),
  }));
  return { type: "value", value };
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
