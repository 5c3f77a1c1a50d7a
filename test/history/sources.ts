// Item sources for tests: a log's own branch, kept up with the log as the live source is.
import { liveSource } from "../../src/history/live.ts";
import type { ItemSource } from "../../src/history/source.ts";
import type { EntrySource } from "../../src/host/entries.ts";
import { BranchIndex } from "../../src/log/branch.ts";

/** The branch of a log as it is now. */
export function sourceOf(log: EntrySource, agent = "/root"): ItemSource {
  const branch = new BranchIndex();
  branch.catchUp(log);
  return liveSource(agent, branch, log);
}
