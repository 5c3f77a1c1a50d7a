// What a turn costs beside the host's own work, counted, not timed: walks of the whole branch that the host makes for us.
// A session must not pay more for each turn the longer it is.
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { scratchFolder } from "../../fixtures/pi/environment.ts";
import { call, text } from "../../fixtures/pi/scripted-model.ts";
import { writeSessionFile } from "../../fixtures/story/session-file.ts";
import { closeAfterEach, pi, using } from "./support.ts";

closeAfterEach();

/** Methods that go through the whole session each time; not every host has every one. */
const WALKS = ["getBranch", "getEntries", "buildSessionContext", "buildSessionProjection"] as const;
const TOOL_TURNS = 5;

async function walksOfRun(bare: boolean): Promise<Readonly<Record<string, number>>> {
  const path = join(scratchFolder(), "session.jsonl");
  writeSessionFile(path, { entries: 300, windows: 1, seed: 3 });
  const s = await pi({
    bare,
    session: { path },
    contextWindow: 100_000_000,
    next: (_request, n) => using(2_000, n % (TOOL_TURNS + 1) < TOOL_TURNS ? call("ls", { path: "." }) : text("done")),
  });
  await s.prompt("the first run opens the windows");
  const walks: Record<string, number> = {};
  const manager = s.sessionManager as unknown as Record<string, (...args: unknown[]) => unknown>;
  for (const name of WALKS) {
    const own = manager[name];
    if (typeof own !== "function") continue;
    walks[name] = 0;
    manager[name] = function (this: unknown, ...args: unknown[]) {
      walks[name] = (walks[name] ?? 0) + 1;
      return own.apply(this, args);
    };
  }
  await s.prompt("and now the run that counts");
  expect(s.requests).toHaveLength(2 * (TOOL_TURNS + 1));
  return walks;
}

describe("a run of several turns", () => {
  it("makes the host walk its session no more often than it does without this package", async () => {
    const bare = await walksOfRun(true);
    const ours = await walksOfRun(false);
    expect(ours).toEqual(bare);
  });
});
