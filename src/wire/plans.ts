// The todo list as the plan of an editor, where a proxy asks for it.
import { startPublisher } from "../acp/publisher.ts";
import { ACP_SOCKET_VARIABLE } from "../acp/wire.ts";
import type { Host } from "../host/host.ts";

export function planSteps(host: Host, env: Readonly<Record<string, string | undefined>>) {
  if (!env[ACP_SOCKET_VARIABLE]) return { close: () => undefined };
  const publisher = startPublisher(host.events, env);
  // Some hosts keep the bus over a reload.
  return { close: () => publisher?.stop() };
}
