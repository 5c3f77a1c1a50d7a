// What a request asks of the registry costs no more than looking at it: bytes that are known are not parsed again, the own
// process is not looked up again, and the agents are put together once.
import { expect, test, vi } from "vitest";
import { watchedDisk } from "../storage/disks.ts";
import { newPlace } from "./tasks.ts";

const REQUESTS = 20;

test("a registry that was written a moment ago is parsed once while its bytes are the same", async () => {
  const place = newPlace();
  const { task } = place.open(place.session("root"));
  await task.join();
  task.agentNamed("/root");
  const parse = vi.spyOn(JSON, "parse");
  for (let request = 0; request < REQUESTS; request++) task.agentNamed("/root");
  expect(parse).not.toHaveBeenCalled();
  parse.mockRestore();
  await task.registry.setCategory("/root", "red");
  expect(task.agentNamed("/root").category).toBe("red");
});

test("a session looks up its own process once, however often it is asked for", async () => {
  const asked: string[] = [];
  const disk = watchedDisk((call, path) => {
    if (call === "openSync" && String(path).startsWith("/proc/")) asked.push(String(path));
  });
  const place = newPlace();
  const { task } = place.open(place.session("root"), { disk });
  await task.join();
  expect(task.agentNamed("/root").running).toBe(true);
  asked.length = 0;
  for (let request = 0; request < REQUESTS; request++) {
    expect(task.agentNamed("/root").running).toBe(true);
    expect(task.agents()).toHaveLength(1);
    expect(task.runningAgents()).toHaveLength(1);
  }
  expect(asked).toEqual([]);
});
