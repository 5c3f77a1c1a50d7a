// The proxy's end of the plan socket: accepts pushes, and ignores everything else.
import { connect, createServer, type Server, type Socket } from "node:net";
import { messageOf, shownValue } from "../errors.ts";
import { LineReader } from "../json-lines.ts";
import { leftSocketFolders, makeSocketFolder, type SocketFolder, socketBases } from "../storage/socket-folder.ts";
import { type PlanPush, parsePush } from "./wire.ts";

const CONNECTIONS_MAX = 64;

export interface PlanSocketEvents {
  readonly onPush: (push: PlanPush) => void;
  /** One line for a person; at most one for each connection. */
  readonly onGarbage: (problem: string) => void;
}

export interface PlanSocket {
  readonly path: string;
  /** Removes the socket and its folder at once. */
  close(): void;
}

/** Opens the socket in the first temporary folder that takes one; rejects with the last one's error. */
export async function openPlanSocket(
  events: PlanSocketEvents,
  bases: readonly string[] = socketBases(),
): Promise<PlanSocket> {
  let failure: unknown = new Error(
    "the paths of the temporary folders are too long for a socket; set TMPDIR to a short one",
  );
  for (const base of bases) {
    try {
      return await openIn(makeSocketFolder(base), events);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

const PROBE_MAX_MS = 500;

/** Whether no process listens there; in doubt, no. */
function isDead(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const answer = (dead: boolean) => {
      socket.destroy();
      resolve(dead);
    };
    socket.setTimeout(PROBE_MAX_MS, () => answer(false));
    socket.once("connect", () => answer(false));
    socket.once("error", (error: NodeJS.ErrnoException) => {
      answer(error.code === "ECONNREFUSED" || error.code === "ENOENT");
    });
  });
}

/** Removes the folders of proxies that were killed. Never rejects. */
export async function sweepSockets(bases: readonly string[] = socketBases()): Promise<void> {
  for (const folder of leftSocketFolders(bases)) {
    if (await isDead(folder.socketPath)) folder.remove();
  }
}

async function openIn(folder: SocketFolder, events: PlanSocketEvents): Promise<PlanSocket> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    listenTo(socket, events);
  });
  server.maxConnections = CONNECTIONS_MAX;
  try {
    await listening(server, folder.socketPath);
  } catch (error) {
    folder.remove();
    throw error;
  }
  return {
    path: folder.socketPath,
    close: () => {
      server.close();
      for (const socket of open) socket.destroy();
      folder.remove();
    },
  };
}

function listening(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => {
      server.off("error", reject);
      // Later errors are those of single connections.
      server.on("error", () => undefined);
      resolve();
    });
  });
}

function listenTo(socket: Socket, { onPush, onGarbage }: PlanSocketEvents): void {
  const reader = new LineReader();
  let complained = false;
  const complain = (what: string) => {
    if (!complained) onGarbage(`ignored on the plan socket: ${what}`);
    complained = true;
  };
  socket.on("data", (chunk) => {
    reader.read(chunk, (text) => {
      const line = text();
      const push = parsePush(line);
      if (push) onPush(push);
      else complain(line === undefined ? "a line that is too long" : shownValue(line));
    });
    if (!reader.isTooLong) return;
    complain("a line that is too long");
    socket.destroy();
  });
  socket.on("error", (error) => complain(messageOf(error)));
}
