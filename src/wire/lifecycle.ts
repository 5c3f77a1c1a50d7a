// A session's start and end: it is opened and begun, closed, and left when nothing is written any more.
import type { HostContext, SessionStartEvent } from "../host/api.ts";
import type { SessionOwner } from "../host/copies.ts";
import type { Host } from "../host/host.ts";
import type { Sessions } from "./sessions.ts";

interface Shutdown {
  readonly reason?: string;
}

export function lifecycleSteps(host: Host, sessions: Sessions, claim: SessionOwner) {
  return {
    open: async (event: SessionStartEvent, ctx: HostContext) => {
      claim.started();
      await sessions.close();
      const session = sessions.of(ctx, event);
      await session.live.warmUp();
      session.publish();
      const problems = session.settingsProblems();
      if (problems.length > 0) host.notices.show(ctx, `pi-token-budget settings: ${problems.join("\n")}`, "warning");
      await session.begin();
    },
    // Another branch is read from its root: before it is needed, and with the event loop running in between.
    treeWalked: (_event: object, ctx: HostContext) => sessions.of(ctx).live.warmUp(),
    close: async ({ reason }: Shutdown) => {
      claim.release();
      await sessions.close({ restarts: reason === "reload" });
    },
    leave: async ({ reason }: Shutdown) => {
      if (reason !== "reload") await sessions.leave();
    },
  };
}
