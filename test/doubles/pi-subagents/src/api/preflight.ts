// The preflight: what a launch would load, by id. The paths are left out on purpose.
import { requiredFor } from "../registry.ts";

export interface LaunchContextInput {
  readonly agent: string;
  readonly cwd: string;
  /** The runtime id of the session that launches. */
  readonly parentSessionId?: string;
}

export function resolveSubagentLaunchContract({ agent, cwd, parentSessionId }: LaunchContextInput) {
  const required = parentSessionId === undefined ? [] : requiredFor(parentSessionId);
  return { ok: true, contract: { agent, cwd, tools: { requiredExtensionIds: required.map(({ id }) => id) } } } as const;
}
