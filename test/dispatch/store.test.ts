import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { bundled } from "../../fixtures/pi/bundle.ts";
import { dailyQuota } from "../../src/dispatch/quota.ts";
import { RECORD_FORMAT_VERSION } from "../../src/dispatch/record/schema.ts";
import { RecordStore } from "../../src/dispatch/record/store.ts";
import { Registry } from "../../src/task/registry.ts";
import type { Registration } from "../../src/task/roster.ts";
import { inMemory, newPlace } from "../task/tasks.ts";
import { answering, type Bench, bench, runnerOf } from "./dispatchers.ts";

/** A child as it registers itself. */
const childNamed = (address: string): Registration => ({
  ...{ address, named: true, parent: "/root", declared: null, sessionId: "c", sessionKey: "c", sessionFile: null },
  created: "2025-01-02T03:04:05.678Z",
  state: { type: "ended" },
});

describe("a record of a process that was killed", () => {
  it("becomes failed: interrupted at the next start, keeps its originals, and can be run again", async () => {
    const place = newPlace();
    const child = bundled(new URL("./children/dispatching.ts", import.meta.url));
    const run = spawn(process.execPath, [child, place.base], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const id = await new Promise<string>((resolve, reject) => {
      run.stdout.once("data", (piece: Buffer) => resolve(piece.toString().trim()));
      run.once("exit", () => reject(new Error("the child ended early")));
    });
    const closed = new Promise((resolve) => run.once("close", resolve));
    run.kill("SIGKILL");
    await closed;
    const { dispatcher } = bench([answering("at last")], { place });
    const task = await dispatcher.get(id);
    expect(task).toMatchObject({
      status: "failed",
      error: "interrupted",
      progress: "",
      files: [{ filename: "in.txt" }],
    });
    expect(await (await dispatcher.rerun(id)).result).toMatchObject({ status: "completed", result: "at last" });
  });
});

describe("the records", () => {
  it("of a newer format are refused and left as they are, and so are damaged ones", async () => {
    const { dispatcher, records, problems } = bench([answering("x")]);
    const { id } = await (await dispatcher.dispatch({ goal: "g" })).result;
    const file = join(records, `${id}.json`);
    const content = JSON.parse(readFileSync(file, "utf8"));
    for (const [text, message] of [
      [JSON.stringify({ ...content, version: RECORD_FORMAT_VERSION + 1 }), /has format \d/],
      ["{", /damaged/],
      [JSON.stringify({ ...content, task: { ...content.task, status: "done" } }), /damaged: .*status/],
      [JSON.stringify({ ...content, files: [{}] }), /damaged/],
    ] as const) {
      writeFileSync(file, text);
      await expect(dispatcher.get(id)).rejects.toThrow(message);
      await expect(dispatcher.rerun(id)).rejects.toThrow(message);
      expect(await dispatcher.list()).toEqual([]);
      expect(readFileSync(file, "utf8")).toBe(text);
    }
    expect(problems.length).toBeGreaterThan(0);
    await expect(dispatcher.get("../../x")).rejects.toThrow(/ids are of a-z and 0-9/);
  });

  it("left half-written by dead processes are swept, but nothing young", async () => {
    const { dispatcher, records, place } = bench([answering("x")]);
    const { id } = await (await dispatcher.dispatch({ goal: "g" })).result;
    const old = new Date(Date.now() - 2 * 60 * 60 * 1_000);
    for (const name of ["0123456789abcdef", "fedcba9876543210"]) mkdirSync(join(records, name));
    utimesSync(join(records, "0123456789abcdef"), old, old);
    await dispatcher.close();
    const next = bench([answering("x")], { place });
    await next.dispatcher.list();
    expect(readdirSync(records).sort()).toEqual(["fedcba9876543210", `${id}.json`].sort());
  });

  it("say so when the end cannot be stored, and the run still ends", async () => {
    const seen: string[] = [];
    const { dispatcher, records, problems } = bench([
      runnerOf(({ cwd, taskId, onEvent }) => {
        writeFileSync(join(cwd, "output", "o.txt"), "o");
        // What stands in the way of its bytes.
        writeFileSync(join(records, taskId), "");
        seen.push(taskId);
        onEvent({ type: "answer", text: "ok" });
      }),
    ]);
    const task = await (await dispatcher.dispatch({ goal: "g" })).result;
    expect(task).toMatchObject({
      status: "failed",
      error: expect.stringContaining("could not be stored"),
      outputs: [],
    });
    expect(problems[0]).toContain(seen[0]);
    expect(await dispatcher.get(task.id)).toEqual(task);
  });

  it("with changes from two sides lose none", async () => {
    const { dispatcher, task } = bench([answering("x")]);
    const { id } = await (await dispatcher.dispatch({ goal: "g" })).result;
    const stores = [1, 2].map(() => new RecordStore(task.context));
    await Promise.all(
      stores.flatMap((store) =>
        Array.from({ length: 10 }, () =>
          store.update(id, (record) => ({ ...record, task: { ...record.task, runs: record.task.runs + 1 } })),
        ),
      ),
    );
    expect(stores[0]?.read(id).task.runs).toBe(21);
  });
});

describe("a quota", () => {
  it("is asked before anything is stored, and a refusal is all that stays", async () => {
    const asked: unknown[] = [];
    const { dispatcher, records } = bench([answering("x")], {
      quota: (used) => {
        asked.push(used);
        return { allowed: false, reason: "the month is over" };
      },
    });
    await expect(dispatcher.dispatch({ goal: "g" })).rejects.toThrow(/not dispatched: the month is over/);
    expect(asked).toEqual([{ tokens: 0, amount: 0, tasks: 0 }]);
    expect(readdirSync(records)).toEqual(["refusals.json"]);
    const { refusals } = JSON.parse(readFileSync(join(records, "refusals.json"), "utf8"));
    expect(refusals).toMatchObject([{ surface: "task" }]);
    expect(await dispatcher.list()).toEqual([]);
  });

  it("of tokens in a day counts what earlier tasks used", async () => {
    const using = runnerOf(({ onEvent }) => {
      onEvent({ type: "usage", usage: { kind: "chat", model: "p/m", input: 60, output: 40, cached: 0, amount: null } });
      onEvent({ type: "answer", text: "ok" });
    });
    const { dispatcher } = bench([using], { settings: { taskQuota: { tokens: 100 } } });
    await (await dispatcher.dispatch({ goal: "one" })).result;
    await expect(dispatcher.dispatch({ goal: "two" })).rejects.toThrow(/used 100 tokens of 100/);
    expect(await dailyQuota({ amount: 2 })({ tokens: 0, amount: 1.5, tasks: 1 })).toEqual({ allowed: true });
  });
});

describe("categories", () => {
  const setUp = async () => {
    const route = ({ contentCategory, pinned }: { contentCategory: string | null; pinned?: string | undefined }) =>
      contentCategory === "s" ? "p/labelled" : (pinned ?? "p/any");
    const all = bench([answering("x")], { parent: { route } });
    await all.task.join();
    await all.task.registry.setCategory("/root", "s");
    return all;
  };

  it("are those that whoever knows the content declared, and models follow them", async () => {
    const { dispatcher } = await setUp();
    const category = async (request: Parameters<typeof dispatcher.dispatch>[0]) => {
      const task = await (await dispatcher.dispatch(request)).result;
      return [task.category, task.model];
    };
    expect(await category({ goal: "g" })).toEqual(["s", "p/labelled"]);
    expect(await category({ goal: "g", category: "s" })).toEqual(["s", "p/labelled"]);
    expect(await category({ goal: "g", category: null })).toEqual([null, "p/any"]);
    await expect(dispatcher.dispatch({ goal: "g", category: "t" })).rejects.toThrow(/not this agent's/);
    await expect(dispatcher.dispatch({ goal: "g", category: "s", model: "p/other" })).rejects.toThrow(
      /p\/other", which may not see content of category s/,
    );
  });

  it("keep their choice in a rerun", async () => {
    const { dispatcher } = await setUp();
    const ordinary = await (await dispatcher.dispatch({ goal: "g", category: null })).result;
    const inherited = await (await dispatcher.dispatch({ goal: "g" })).result;
    expect((await (await dispatcher.rerun(ordinary.id)).result).category).toBeNull();
    expect((await (await dispatcher.rerun(inherited.id)).result).category).toBe("s");
  });

  it("that the session does not have any more are not run again as ordinary ones, and new ones are taken over", async () => {
    const { dispatcher, task } = await setUp();
    const inherited = await (await dispatcher.dispatch({ goal: "g" })).result;
    const own = await (await dispatcher.dispatch({ goal: "g", category: "s" })).result;
    await task.registry.setCategory("/root", null);
    const before = task.agents().length;
    await expect(dispatcher.rerun(inherited.id, { viewer: "person" })).rejects.toThrow(
      /of category s, and \/root is not any more/,
    );
    await expect(dispatcher.rerun(own.id, { viewer: "person" })).rejects.toThrow(/not this agent's/);
    expect(await dispatcher.get(own.id, { viewer: "person" })).toEqual(own);
    expect(task.agents()).toHaveLength(before);
    const quoting = await (await dispatcher.dispatch({ goal: "g" })).result;
    expect(quoting.category).toBeNull();
    await task.registry.setCategory("/root", "s");
    const again = await (await dispatcher.rerun(quoting.id)).result;
    expect(again).toMatchObject({ status: "completed", category: "s", model: "p/labelled" });
  });

  it("hide records from those who may not read them, in neutral form, and a person sees all", async () => {
    const { dispatcher, task } = await setUp();
    const secret = await (await dispatcher.dispatch({ goal: "secret", category: "s" })).result;
    await task.registry.setCategory("/root", null);
    expect(await dispatcher.list()).toEqual([{ agent: secret.agent, restricted: true }]);
    for (const read of [
      dispatcher.get(secret.id),
      dispatcher.openFile(secret.id, "x"),
      dispatcher.rerun(secret.id),
      dispatcher.remove(secret.id),
    ]) {
      await expect(read).rejects.toThrow(/restricted/);
    }
    expect(await dispatcher.list({ viewer: "person" })).toMatchObject([{ requirement: "secret" }]);
  });

  it("that a person gave to finished ordinary tasks count for their records too", async () => {
    const told = new Map<string, string>();
    const place = newPlace();
    const joining = runnerOf(async ({ taskId, prompt, membership, onEvent }) => {
      await place.open(inMemory(taskId), { membership }).task.join();
      told.set(taskId, prompt);
      onEvent({ type: "answer", text: "the old result" });
    });
    const route = ({ contentCategory }: { contentCategory: string | null }) =>
      contentCategory === "s" ? "p/labelled" : "p/any";
    const { dispatcher, task } = bench([joining], { place, parent: { route } });
    const old = await (await dispatcher.dispatch({ goal: "the old words", category: null })).result;
    await task.registry.setCategory("/root", "s");
    const ordinary = await (await dispatcher.dispatch({ goal: "an open job", category: null })).result;
    expect(ordinary.status).toBe("completed");
    expect(told.get(ordinary.id)).not.toMatch(/the old (words|result)/);
    const own = await (await dispatcher.dispatch({ goal: "a closed job", category: "s" })).result;
    expect(told.get(own.id)).toMatch(/the old words[\s\S]*the old result/);
    const again = await (await dispatcher.rerun(old.id)).result;
    expect(again).toMatchObject({ category: "s", model: "p/labelled", status: "completed" });
  });

  it("that nobody can say of an agent hide its record and all that was said", async () => {
    const told: string[] = [];
    const unknown = new Set<string>();
    const runner = runnerOf(({ prompt, onEvent }) => {
      told.push(prompt);
      onEvent({ type: "answer", text: "the result" });
    });
    const all: Bench = bench([runner], {
      parent: {
        agents: () =>
          all.task.agents().map(({ address, category }) => ({
            agentName: address,
            category: unknown.has(address) ? undefined : category,
          })),
      },
    });
    await all.task.join();
    const first = await (await all.dispatcher.dispatch({ goal: "the first", category: null })).result;
    await new Registry({ context: all.task.context }).register(childNamed(first.agent));
    unknown.add(first.agent);
    await (await all.dispatcher.dispatch({ goal: "the second", category: null })).result;
    expect(told[1]).not.toContain("the first");
    expect(await all.dispatcher.list()).toContainEqual({ agent: first.agent, restricted: true });
    await expect(all.dispatcher.get(first.id)).rejects.toThrow(/restricted/);
    unknown.clear();
    await (await all.dispatcher.dispatch({ goal: "the third", category: null })).result;
    expect(told[2]).toContain("the first");
  });

  it("without a router are not dispatched at all", async () => {
    const { dispatcher, task } = bench([answering("x")]);
    await task.join();
    await task.registry.setCategory("/root", "s");
    await expect(dispatcher.dispatch({ goal: "g" })).rejects.toThrow(/needs the model router/);
    expect((await (await dispatcher.dispatch({ goal: "g", category: null })).result).status).toBe("completed");
  });
});

describe("permissions", () => {
  // The superuser reads everything.
  it.skipIf(process.getuid?.() === 0)(
    "of an attachment that may not be read give an error, and nothing stays",
    async () => {
      const { dispatcher, records, file } = bench([answering("x")]);
      const locked = file("locked.txt", "x");
      chmodSync(locked, 0);
      await expect(dispatcher.dispatch({ goal: "g", attachments: [locked] })).rejects.toThrow(/could not be written/);
      expect(existsSync(records) ? readdirSync(records) : []).toEqual([]);
    },
  );
});
