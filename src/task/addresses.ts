// Agent addresses: `/root`, `/root/agent_ab12…`, `/root/reviewer/checker`. Pure.
import { shownValue, TokenBudgetError } from "../errors.ts";

export const ROOT_ADDRESS = "/root";

const MAIN_AGENT = "main agent";

/** The address of a session that could not join the root task it was given: `/root` would mean that task. */
export const APART_ADDRESS = "/apart";

/** Addresses are shown in headers, errors and lists, so their length is bounded, in characters. */
export const ADDRESS_MAX_CHARS = 512;

const SEGMENT = /^[a-z0-9_]+$/;
const RESERVED_SEGMENTS: ReadonlySet<string> = new Set(["root", "notes"]);
const NAMES_RULE = "names are one or more segments of a-z, 0-9 and _ separated by /, and none is root or notes";

function isSegment(segment: string): boolean {
  return SEGMENT.test(segment) && !RESERVED_SEGMENTS.has(segment);
}

export function isAddress(address: string): boolean {
  if (address === ROOT_ADDRESS || address === APART_ADDRESS) return true;
  const [, first, ...segments] = address.split("/");
  if (address.length > ADDRESS_MAX_CHARS || (`/${first}` !== ROOT_ADDRESS && `/${first}` !== APART_ADDRESS))
    return false;
  return segments.length > 0 && address.startsWith("/") && segments.every(isSegment);
}

/** Whether one address lies below another; none lies below itself. Both are valid. */
export function isBelow(address: string, ancestor: string): boolean {
  return address.startsWith(`${ancestor}/`);
}

/** An agent's name for people, to whom `/root` reads like a directory. A remark behind the address stays. */
export function agentName(address: string): string {
  const [path = "", ...remark] = address.split(" ");
  if (!isAddress(path)) return address;
  if (path === APART_ADDRESS) return [path.slice(1), ...remark].join(" ");
  const name = path === ROOT_ADDRESS ? MAIN_AGENT : path.slice(ROOT_ADDRESS.length + 1);
  return [name, ...remark].join(" ");
}

/** A name as an absolute address, unchecked: a relative name is below `current`. */
function absolute(current: string, name: string): string {
  return name.startsWith("/") ? name : `${current}/${name}`;
}

/** An `agent_name` as an absolute address: left out it is the current agent, a relative one is below it. */
export function resolveAddress(current: string, name: string | undefined | null): string {
  if (name === undefined || name === null) return current;
  const address = absolute(current, name);
  if (isAddress(address)) return address;
  throw new TokenBudgetError(
    "invalid_address",
    `agent_name is ${shownValue(name)}; an address is ${ROOT_ADDRESS} or ${ROOT_ADDRESS}/name, with names of a-z, 0-9 and _; leave it out for yourself.`,
  );
}

/** A launcher's `parentAgentName` as an address; left out it is the root. */
export function parentAddress(parentAgentName: string | undefined): string {
  if (parentAgentName === undefined) return ROOT_ADDRESS;
  if (isAddress(parentAgentName) && (parentAgentName === ROOT_ADDRESS || isBelow(parentAgentName, ROOT_ADDRESS)))
    return parentAgentName;
  throw new TokenBudgetError(
    "invalid_address",
    `parentAgentName is ${shownValue(parentAgentName)}; it must be the address of an agent of the task, such as ${ROOT_ADDRESS} or ${ROOT_ADDRESS}/reviewer. Leave it out for ${ROOT_ADDRESS}.`,
  );
}

/** A launcher's `agentName` as an address below its parent: one or more segments, or an absolute address there. */
export function childAddress(parent: string, agentName: string): string {
  const address = absolute(parent, agentName);
  if (isAddress(address) && isBelow(address, parent)) return address;
  if (address.length > ADDRESS_MAX_CHARS) {
    throw new TokenBudgetError(
      "invalid_address",
      `agentName is ${shownValue(agentName)}: its address would have ${address.length} characters, and at most ${ADDRESS_MAX_CHARS} are possible. Give a shorter name.`,
    );
  }
  const problem = isAddress(address) ? `it is not below its parent ${parent}` : NAMES_RULE;
  throw new TokenBudgetError(
    "invalid_address",
    `agentName is ${shownValue(agentName)}: ${problem}. Give a name such as reviewer, an address below ${parent}, or leave it out for an automatic one.`,
  );
}
