// What a turn costs the disk: one flush, counted on the calls of the process. What a tool that runs should find is written
// before it runs, and is on the disk with the next request.
import fs from "node:fs";
import { expect, it, onTestFinished } from "vitest";
import { call, text } from "../../fixtures/pi/scripted-model.ts";
import { closeAfterEach, pi, using } from "./support.ts";

closeAfterEach();

/** Counts the flushes of journals, the only files that are flushed this way. */
function flushes(): () => number {
  let count = 0;
  const { fdatasyncSync, fdatasync } = fs;
  fs.fdatasyncSync = (descriptor) => {
    count++;
    return fdatasyncSync(descriptor);
  };
  fs.fdatasync = ((...args: Parameters<typeof fdatasync>) => {
    count++;
    return fdatasync(...args);
  }) as typeof fdatasync;
  onTestFinished(() => void Object.assign(fs, { fdatasyncSync, fdatasync }));
  return () => count;
}

it("a turn of a run is flushed once, whatever it calls", async () => {
  let turns = 0;
  const s = await pi({
    contextWindow: 1_000_000,
    next: () => {
      const calls = [call("ls", { path: "." }), call("ls", { path: ".." })];
      return using(2_000, ...(turns-- > 0 ? calls : [text("done")]));
    },
  });
  await s.prompt("the first run registers the session");
  const costOf = async (count: number) => {
    turns = count;
    const counted = flushes();
    await s.prompt(`and now ${count} turns`);
    return counted();
  };
  const [few, many] = [await costOf(2), await costOf(8)];
  // Where turns are quicker than the disk, two of them share a flush.
  expect(many - few).toBeLessThanOrEqual(6);
  expect(many).toBeGreaterThan(0);
  // The prompt, and the last answer.
  expect(few).toBeLessThanOrEqual(2 + 2);
});
