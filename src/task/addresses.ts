// Agent addresses: `/root`, `/root/agent_ab12…`, `/root/reviewer/checker`. Pure.
import { shownValue, TokenBudgetError } from "../errors.ts";

export const ROOT_ADDRESS = "/root";

const SEGMENT = /^[a-z0-9_]+$/;
const RESERVED_SEGMENTS: ReadonlySet<string> = new Set(["root", "notes"]);

function isSegment(segment: string): boolean {
  return SEGMENT.test(segment) && !RESERVED_SEGMENTS.has(segment);
}

export function isAddress(address: string): boolean {
  if (address === ROOT_ADDRESS) return true;
  return (
    address.startsWith(`${ROOT_ADDRESS}/`) &&
    address
      .slice(ROOT_ADDRESS.length + 1)
      .split("/")
      .every(isSegment)
  );
}

/** An `agent_name` as an absolute address: omitted is the current agent, a relative one is below it. */
export function resolveAddress(current: string, name: string | undefined): string {
  if (name === undefined) return current;
  const address = name.startsWith("/") ? name : `${current}/${name}`;
  if (isAddress(address)) return address;
  throw new TokenBudgetError(
    "invalid_address",
    `agent_name is ${shownValue(name)}; an address is ${ROOT_ADDRESS} or ${ROOT_ADDRESS}/name, with names of a-z, 0-9 and _; leave it out for yourself.`,
  );
}
