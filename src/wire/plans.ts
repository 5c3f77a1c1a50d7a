// The todo list as the plan of an editor, where a proxy asks for it.
import { startPublisher } from "../acp/publisher.ts";
import { ACP_SOCKET_VARIABLE } from "../acp/wire.ts";
import type { Host } from "../host/host.ts";

export function wirePlans(host: Host, env: Readonly<Record<string, string | undefined>>): void {
  if (!env[ACP_SOCKET_VARIABLE]) return;
  const publisher = startPublisher(host.events, env);
  host.on("session_shutdown", () => {
    // Some hosts keep the bus over a reload.
    publisher?.stop();
    return undefined;
  });
}
