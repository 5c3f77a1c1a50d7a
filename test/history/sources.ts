// Item sources for tests: a log's own branch, kept up with the log as the live source is.
import { liveSource } from "../../src/history/live.ts";
import type { ItemSource } from "../../src/history/source.ts";
import type { EntrySource } from "../../src/host/entries.ts";
import { BranchIndex } from "../../src/log/branch.ts";

/** The live history of a log: each call brings one and the same source up to the log. */
export function liveSourceOf(log: EntrySource, agent = "/root"): () => ItemSource {
  const branch = new BranchIndex();
  const source = liveSource(agent, branch, log);
  return () => {
    branch.catchUp(log);
    return source;
  };
}

/** The branch of a log as it is now. */
export function sourceOf(log: EntrySource, agent?: string): ItemSource {
  return liveSourceOf(log, agent)();
}
