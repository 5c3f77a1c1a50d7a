// A program that is no Pi session makes a root task and places children in it, in this process and in others; it reads what
// they wrote. No context is put together by hand.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createTask, createTokenBudgetExtension, openTask, setAgentCategory, writeChildExtension } from "../../api.ts";
import { runPi } from "../../fixtures/pi/cli.ts";
import { scratchFolder } from "../../fixtures/pi/environment.ts";
import { call, type Script, textOf } from "../../fixtures/pi/scripted-model.ts";
import { treeOf } from "../storage/disks.ts";
import { closeAfterEach, pi } from "./support.ts";

closeAfterEach();

const MINUTES = 60_000;

const writes =
  (text: string): Script =>
  (_request, n) =>
    n === 0 ? [call("notes_write_file", { path: "found.md", text })] : "written";

it(
  "createTask makes a task whose children read each other, wherever they run, and which is read without a session",
  async () => {
    const storageRoot = join(scratchFolder(), "reviews");
    const context = createTask({ storageRoot });
    expect(context).toEqual({ version: 1, runId: context.runId, rootSessionId: context.runId, storageRoot });
    expect(openTask(context).agents()).toEqual([]);
    const factories = [createTokenBudgetExtension({ task: { ...context, agentName: "one", required: true } })];
    const one = await pi({ next: writes("of one"), bare: true, factories });
    await one.prompt("Review the parser.");

    const entry = await writeChildExtension(context, { agentName: "two", required: true });
    const model = [
      [call("notes_read_file", { path: "/root/one/notes/found.md" })],
      [call("notes_append_to_file", { path: "/root/notes/all.md", text: "two has read it" })],
      "read",
    ];
    const two = await runPi({ extensions: [entry], model, prompt: "Read on." });
    expect(two, two.stderr).toMatchObject({ code: 0, stdout: "read\n" });
    expect(textOf(two.requests[1]?.messages.at(-1))).toContain("of one");
    two.environment.remove();

    const task = openTask(context);
    expect(task.agents().map(({ agentName, readable }) => [agentName, readable])).toEqual([
      ["/root", true],
      ["/root/one", true],
      ["/root/two", true],
    ]);
    expect(await task.notes.read("/root", "all.md")).toMatchObject({ text: "two has read it" });
    expect((await task.history.search("one", "parser")).total).toBe(1);
    expect(await task.history.windows("/root")).toMatchObject([{ windowId: "w1", items: 0, firstItemId: null }]);
    expect(await task.history.list("/root")).toEqual({ total: 0, items: [], next: null });
  },
  2 * MINUTES,
);

it("the same id is the same task, and another id another one, in one folder", () => {
  const storageRoot = join(scratchFolder(), "reviews");
  const first = createTask({ storageRoot, runId: "monday" });
  const before = treeOf(storageRoot);
  expect(createTask({ storageRoot, runId: "monday" })).toEqual(first);
  expect(treeOf(storageRoot)).toEqual(before);
  createTask({ storageRoot, runId: "tuesday" });
  expect(readdirSync(join(storageRoot, "tasks")).sort()).toEqual(["monday", "tuesday"]);
});

it("children without a name have automatic ones, from one file", async () => {
  const context = createTask({ storageRoot: join(scratchFolder(), "reviews") });
  const entry = await writeChildExtension(context);
  expect(await writeChildExtension(context, {})).toBe(entry);
  for (let n = 0; n < 2; n++) {
    const ran = await runPi({ extensions: [entry], model: ["done"], prompt: "Work." });
    expect(ran, ran.stderr).toMatchObject({ code: 0, stderr: "" });
    ran.environment.remove();
  }
  const children = openTask(context).agents().slice(1);
  expect(children.map(({ parentAgentName }) => parentAgentName)).toEqual(["/root", "/root"]);
  for (const { agentName } of children) expect(agentName).toMatch(/^\/root\/agent_[0-9a-f]{12}$/);
});

it("what is wrong is said before anything is made", async () => {
  const folder = scratchFolder();
  const make = createTask as (options: unknown) => unknown;
  const write = writeChildExtension as (...given: unknown[]) => Promise<string>;
  expect(() => make({})).toThrow(expect.objectContaining({ code: "missing_field" }));
  expect(() => make({ storageRoot: "reviews" })).toThrow(/storageRoot is "reviews"; it must be an absolute path/);
  expect(() => make({ storageRoot: folder, id: "x" })).toThrow(expect.objectContaining({ code: "unknown_field" }));
  expect(() => make({ storageRoot: folder, runId: "\n" })).toThrow(
    expect.objectContaining({ code: "invalid_argument" }),
  );
  expect(() => make({ storageRoot: join(process.execPath, "below") })).toThrow(
    expect.objectContaining({ code: "storage_failed" }),
  );
  const byHand = { version: 1, runId: "x", rootSessionId: "x", storageRoot: folder };
  await expect(write(byHand)).rejects.toThrow(/There is no root task "x" .* nothing was made there\. .* createTask/);
  const context = createTask({ storageRoot: join(folder, "reviews") });
  await expect(write(context, { name: "x" })).rejects.toMatchObject({ code: "unknown_field" });
  await expect(write(context, { agentName: "Not A Name" })).rejects.toMatchObject({ code: "invalid_address" });
  await expect(write(context, {}, { packageDirectory: "/nowhere" })).rejects.toThrow(/packageDirectory is "\/nowhere"/);
  expect(readdirSync(folder)).toEqual(["reviews"]);
});

it("setAgentCategory of a root that has said nothing yet is a decision too", async () => {
  const context = createTask({ storageRoot: join(scratchFolder(), "reviews") });
  await setAgentCategory(context, "/root", "client-x");
  const factories = [createTokenBudgetExtension({ task: { ...context, agentName: "one" } })];
  const child = await pi({ next: () => "done", bare: true, factories });
  expect(openTask(context).agents()).toMatchObject([
    { agentName: "/root", category: "client-x", readable: false },
    { agentName: "/root/one", category: "client-x", readable: false },
  ]);
  expect(child.errors).toEqual([]);
});
