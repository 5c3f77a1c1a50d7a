// Several processes in one task: no registration is lost, a name belongs to one, and killed processes have ended.
import { utimesSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../../fixtures/pi/wait.ts";
import { figure, rounds } from "../rounds.ts";
import { exitCodeOf, kill, messageFrom, startChild } from "../storage/children.ts";
import { treeOf } from "../storage/disks.ts";
import { inMemory, memberOf, newPlace, type Place } from "./tasks.ts";

const JOINER = new URL("./children/join.ts", import.meta.url);
const PROCESSES = rounds(4, 8);
const SESSIONS_EACH = rounds(4, 6);
const KILLED = rounds(3, 6, 100);
const STALE_MS = 2_000;
const TEST_MS = 600_000;

function startJoiner(place: Place, membership: unknown, ids: readonly string[], rest: readonly string[] = []) {
  return startChild(JOINER, [place.agentDir, membership ? JSON.stringify(membership) : "", ids.join(","), ...rest]);
}

test(`${PROCESSES} processes register their agents at once and lose none`, { timeout: TEST_MS }, async () => {
  const place = newPlace();
  const { task } = place.open(place.session("r"));
  await task.join();
  const idsOf = (at: number) => Array.from({ length: SESSIONS_EACH }, (_, n) => `p${at}s${n}`);
  const acknowledged: unknown[] = [];
  const children = Array.from({ length: PROCESSES }, (_, at) => startJoiner(place, memberOf(task), idsOf(at)));
  for (const child of children) child.on("message", (address) => acknowledged.push(address));
  expect(await Promise.all(children.map(exitCodeOf))).toEqual(children.map(() => 0));
  const agents = task.agents();
  const ids = agents.map(({ sessionId }) => sessionId);
  expect(ids.sort()).toEqual(["r", ...children.flatMap((_, at) => idsOf(at))].sort());
  const addresses = agents.map(({ address }) => address).filter((address) => address !== "/root");
  expect(acknowledged.sort()).toEqual(addresses.sort());
  expect(agents.filter(({ running }) => running).map(({ address }) => address)).toEqual(["/root"]);
});

test("one name for four processes goes to one of them; the others are told and go their own ways", async () => {
  const place = newPlace();
  const { task } = place.open(place.session("r"));
  await task.join();
  const membership = memberOf(task, { agentName: "reviewer" });
  const children = ["a", "b", "c", "d"].map((id) => startJoiner(place, membership, [id]));
  const told: string[] = [];
  for (const child of children) child.on("message", (message) => told.push(String(message)));
  expect(await Promise.all(children.map(exitCodeOf))).toEqual(children.map(() => 0));
  const winners = told.filter((message) => message === "/root/reviewer");
  expect(winners).toHaveLength(1);
  expect(task.agents().map(({ address }) => address)).toEqual(["/root", "/root/reviewer"]);
  // Whoever opened late knew at once and is apart; whoever raced was refused when it joined, before it wrote anything.
  const losers = told.filter((message) => /held by another session.*"[abcd]"/.test(message));
  const apart = told.filter((message) => message === "/apart");
  expect(losers).toHaveLength(3);
  expect(losers.filter((message) => message.startsWith("problem"))).toHaveLength(apart.length);
});

test("a session opened in a second process is the same agent of the same task", async () => {
  const place = newPlace();
  const root = place.session("r");
  const { task } = place.open(root);
  await task.join();
  const child = place.session("c", "elsewhere");
  const { task: joined } = place.open(child, { membership: memberOf(task, { agentName: "a/b" }) });
  await joined.join();
  const directory = join(place.base, "files");
  // Sessions with files whose names hold no id, started by processes of their own: first as children, then by hand.
  const first = startJoiner(place, memberOf(task, { agentName: "x" }), ["s1"], [directory]);
  expect(await messageFrom(first)).toBe("/root/x");
  await exitCodeOf(first);
  const again = startJoiner(place, undefined, ["s1"], [directory, "stay"]);
  expect(await messageFrom(again)).toBe("/root/x");
  expect(task.agentNamed("/root/x").running).toBe(true);
  again.send("end");
  expect(await exitCodeOf(again)).toBe(0);
  expect(task.agentNamed("/root/x").state).toEqual({ type: "ended" });
  expect(task.agents().map(({ address }) => address)).toEqual(["/root", "/root/a/b", "/root/x"]);
});

test(`agents of ${KILLED} killed processes have ended, whatever they were doing`, { timeout: TEST_MS }, async () => {
  const place = newPlace();
  const { task } = place.open(inMemory("r"), { staleLockMs: STALE_MS });
  await task.join();
  const acknowledged: string[] = [];
  for (let round = 0; round < KILLED; round++) {
    const ids = Array.from({ length: SESSIONS_EACH * 10 }, (_, n) => `k${round}s${n}`);
    const child = startJoiner(place, memberOf(task), ids, ["memory", "stay", String(STALE_MS)]);
    const wanted = acknowledged.length + 1 + (round % 6);
    child.on("message", (address) => acknowledged.push(String(address)));
    await until(
      () => `${wanted} acknowledged agents`,
      () => acknowledged.length >= wanted,
      { checkMs: 1 },
    );
    await kill(child);
  }
  const agents = task.agents();
  const addresses = new Set(agents.map(({ address }) => address));
  expect(acknowledged.filter((address) => !addresses.has(address))).toEqual([]);
  expect(agents.filter(({ running }) => running).map(({ address }) => address)).toEqual(["/root"]);
  const meta = [task.registry.layout.meta, join(task.context.storageRoot, "sessions.meta")];
  // The next start, after the stale time.
  for (const directory of meta) {
    for (const kind of ["tmp", "locks"]) {
      const left = join(directory, kind);
      for (const name of treeOf(left)) utimesSync(join(left, name), 1, 1);
    }
  }
  task.sweep();
  for (const directory of meta) {
    expect(treeOf(directory).filter((path) => /\//.test(path))).toEqual([]);
  }
  figure("kills", KILLED);
});
