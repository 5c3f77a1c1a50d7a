import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { pdf, workbook } from "../../fixtures/files/documents.ts";
import { until } from "../../fixtures/pi/wait.ts";
import { checkedAttachments } from "../../src/dispatch/files/attachments.ts";
import type { TaskView } from "../../src/dispatch/task-view.ts";
import { answering, bench, runnerOf, scriptRunner } from "./dispatchers.ts";

describe("a task", () => {
  it("is stored with its originals before its runner starts, and ends in one commit", async () => {
    const seen: TaskView[] = [];
    const { dispatcher, file, records, work } = bench([
      runnerOf(async ({ cwd, taskId, onEvent }) => {
        seen.push(await dispatcher.get(taskId));
        onEvent({ type: "step", text: "Ran: sum" });
        writeFileSync(join(cwd, "output", "summary.csv"), "a,1\n");
        writeFileSync(join(cwd, "work", "draft.txt"), "draft");
        onEvent({ type: "usage", usage: { kind: "chat", model: "p/m", input: 10, output: 5, cached: 7, amount: 0.5 } });
        onEvent({ type: "usage", usage: { kind: "chat", model: "p/m", input: 1, output: 1, cached: 1, amount: null } });
        onEvent({ type: "answer", text: `Done: ${cwd}/output/summary.csv` });
      }),
    ]);
    const handle = await dispatcher.dispatch({
      goal: " Sum it \nplease",
      attachments: [file("sales.txt", "1 2")],
      category: null,
    });
    const events: string[] = [];
    handle.subscribe((event) => events.push(event.type));
    const task = await handle.result;
    expect(seen[0]).toMatchObject({
      status: "processing",
      title: "Sum it",
      requirement: "Sum it \nplease",
      files: [{ filename: "sales.txt", size: 3 }],
      outputs: [],
    });
    expect(task).toMatchObject({
      status: "completed",
      result: "Done: summary.csv",
      error: null,
      progress: "",
      steps: ["Ran: sum"],
    });
    expect(task.outputs.map(({ filename }) => filename)).toEqual(["summary.csv"]);
    expect(task.intermediates.map(({ filename }) => filename)).toEqual(["draft.txt"]);
    expect(task.usage).toMatchObject([
      { kind: "chat", model: "p/m", input: 11, output: 6, cached: 8, amount: 0.5, quantity: 1, task: task.id },
    ]);
    expect(events.at(-1)).toBe("ended");
    expect(await dispatcher.get(task.id)).toEqual(task);
    const [output] = task.outputs;
    const opened = await dispatcher.openFile(task.id, output?.id ?? "");
    expect({ ...opened, stream: await text(opened.stream) }).toEqual({
      stream: "a,1\n",
      filename: "summary.csv",
      contentType: "text/csv",
      size: 4,
    });
    expect(existsSync(join(work, task.id))).toBe(false);
    expect(statSync(join(records, `${task.id}.json`)).mode & 0o777).toBe(0o600);
    expect(statSync(join(records, task.id)).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(join(records, task.id)))
      expect(statSync(join(records, task.id, name)).mode & 0o777).toBe(0o600);
    expect(JSON.stringify(task)).not.toContain(records);
  });

  it("runs again: its new outputs replace the old, and its old intermediates stay, and is removed whole", async () => {
    let run = 0;
    const { dispatcher, records, file } = bench([
      runnerOf(({ cwd, onEvent }) => {
        run++;
        writeFileSync(join(cwd, "output", `out${run}.txt`), `${run}`);
        writeFileSync(join(cwd, "work", "same.txt"), `${run}`);
        onEvent({ type: "answer", text: `run ${run}` });
      }),
    ]);
    const first = await (await dispatcher.dispatch({ goal: "g", attachments: [file("in.txt", "x")] })).result;
    const again = await dispatcher.rerun(first.id);
    expect(again.task).toMatchObject({ status: "processing", outputs: first.outputs, result: "run 1" });
    const second = await again.result;
    expect(second.result).toBe("run 2");
    expect(second.agent).not.toBe(first.agent);
    expect(second.files).toEqual(first.files);
    expect(second.outputs.map(({ filename }) => filename)).toEqual(["out2.txt"]);
    const bytes = await Promise.all(
      second.intermediates.map(async ({ id }) => text((await dispatcher.openFile(first.id, id)).stream)),
    );
    expect(bytes).toEqual(["2", "1"]);
    expect(readdirSync(join(records, first.id))).toHaveLength(4);
    await dispatcher.remove(first.id);
    expect(await dispatcher.list()).toEqual([]);
    expect(existsSync(join(records, first.id))).toBe(false);
    await expect(dispatcher.get(first.id)).rejects.toThrow(/no task/);
  });

  it("whose original is gone leaves no directory behind", async () => {
    const { dispatcher, records, work, file } = bench([answering("ok")]);
    const { id } = await (await dispatcher.dispatch({ goal: "g", attachments: [file("in.txt", "x")] })).result;
    for (const name of readdirSync(join(records, id))) rmSync(join(records, id, name));
    expect(await (await dispatcher.rerun(id)).result).toMatchObject({ status: "failed" });
    expect(readdirSync(work)).toEqual([]);
  });

  it("is not started when its session ends while it is being stored", async () => {
    let runs = 0;
    let open = (_model: string) => {};
    const asked = new Promise<string>((resolve) => {
      open = resolve;
    });
    let isAsked = false;
    const route = () => {
      isAsked = true;
      return asked;
    };
    const runner = runnerOf(({ onEvent }) => {
      runs++;
      onEvent({ type: "answer", text: "ok" });
    });
    const { dispatcher } = bench([runner], { parent: { route } });
    const opening = dispatcher.dispatch({ goal: "g" });
    await until("the question", () => isAsked);
    const closing = dispatcher.close();
    open("p/m");
    await closing;
    expect(await (await opening).result).toMatchObject({ status: "failed", error: "interrupted" });
    expect(runs).toBe(0);
  });

  it("waits when four run, can be cancelled while it waits, and the next one gets the place", async () => {
    const started: string[] = [];
    const release: (() => void)[] = [];
    const { dispatcher } = bench([
      runnerOf(async ({ prompt, onEvent }) => {
        started.push(prompt);
        await new Promise<void>((resolve) => release.push(resolve));
        onEvent({ type: "answer", text: "ok" });
      }),
    ]);
    const handles = [];
    for (let n = 1; n <= 4; n++) handles.push(await dispatcher.dispatch({ goal: `goal ${n}` }));
    await until("start of task 4", () => started.length === 4);
    for (let n = 5; n <= 6; n++) handles.push(await dispatcher.dispatch({ goal: `goal ${n}` }));
    const [fifth, sixth] = handles.slice(4);
    expect(fifth?.task.progress).toBe("queued");
    await fifth?.cancel();
    expect(await fifth?.result).toMatchObject({ status: "cancelled", error: null, progress: "" });
    release.shift()?.();
    await until("start of task 5", () => started.length === 5);
    expect(started[4]).toContain("goal 6");
    for (const each of release) each();
    expect((await sixth?.result)?.status).toBe("completed");
  });

  it("that is running is cancelled, removed and not left in the list", async () => {
    const { dispatcher } = bench([
      runnerOf(
        ({ signal }) =>
          new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
      ),
    ]);
    const handle = await dispatcher.dispatch({ goal: "wait" });
    await dispatcher.remove(handle.task.id);
    expect((await handle.result).status).toBe("cancelled");
    expect(await dispatcher.list()).toEqual([]);
  });

  it("is ended by a bound when its runner does not obey, or says nothing", async () => {
    const { dispatcher } = bench([runnerOf(() => new Promise<void>(() => undefined))], {
      limits: { stopLimitMs: 50, silenceLimitMs: 60 },
    });
    const task = await (await dispatcher.dispatch({ goal: "hang" })).result;
    expect(task).toMatchObject({ status: "failed", error: expect.stringContaining("nothing was heard") });
  });

  it("of a session that ends is interrupted", async () => {
    const { dispatcher } = bench([
      runnerOf(
        ({ signal }) => new Promise((_r, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
      ),
    ]);
    const handle = await dispatcher.dispatch({ goal: "g" });
    await dispatcher.close();
    expect(await handle.result).toMatchObject({ status: "failed", error: "interrupted" });
    await expect(dispatcher.dispatch({ goal: "late" })).rejects.toThrow(/has ended/);
  });
});

describe("bad input leaves nothing behind", () => {
  const nothing = (records: string) => expect(existsSync(records) ? readdirSync(records) : []).toEqual([]);

  it("in goals, fields, names, models, runners and directories", async () => {
    const { dispatcher, records } = bench([answering("x")]);
    const refused = async (request: Parameters<typeof dispatcher.dispatch>[0], message: RegExp) => {
      await expect(dispatcher.dispatch(request)).rejects.toThrow(message);
    };
    await refused({ goal: "x".repeat(50_001) }, /longer than 50,000/);
    await refused({ goal: "" }, /goal is empty/);
    await refused({ goal: "x", context: "y".repeat(50_001) }, /context is longer/);
    await refused({ goal: "x", agentName: "Not A Name" }, /agentName is/);
    await refused({ goal: "x", model: "nomodel" }, /model is "nomodel"/);
    await refused({ goal: "x", runner: "nobody" }, /runner is "nobody"; there are session/);
    await refused({ goal: "x", cwd: "/does/not/exist" }, /cwd is/);
    await refused({ goal: "x", category: "other" }, /category is "other"/);
    await refused({ goal: "x", extra: 1 } as never, /no field "extra"/);
    nothing(records);
  });

  it("in attachments", async () => {
    const { dispatcher, records, file, place } = bench([answering("x")]);
    const refused = (attachment: string, message: RegExp) =>
      expect(dispatcher.dispatch({ goal: "x", attachments: [file("good.txt", "y"), attachment] })).rejects.toThrow(
        message,
      );
    await refused(join(place.base, "missing.txt"), /attachments\[1\] .* there is no such file/);
    mkdirSync(join(place.base, "folder"));
    await refused(join(place.base, "folder"), /it is a directory/);
    symlinkSync("/etc/hostname", join(place.base, "link.txt"));
    await refused(join(place.base, "link.txt"), /symbolic link/);
    const large = file("large.bin", "");
    truncateSync(large, 100_000_001);
    await refused(large, /100,000,001 bytes, and an attachment may have 100,000,000/);
    symlinkSync(place.base, join(place.base, "up"));
    await refused(join(place.base, "up"), /symbolic link/);
    symlinkSync("/no/such/file", join(place.base, "dangling"));
    await refused("dangling", /symbolic link/);
    await expect(dispatcher.dispatch({ goal: "x", attachments: Array(51).fill("good.txt") })).rejects.toThrow(
      /attachments has 51 entries; a task may have 50/,
    );
    nothing(records);
    truncateSync(large, 100_000_000);
    expect(checkedAttachments([large], place.base)).toEqual([{ source: large, filename: "large.bin", role: "input" }]);
  });

  it("also when storing fails halfway, and then nothing of the bytes stays", async () => {
    const { dispatcher, records, file } = bench([answering("x")]);
    const stop = new AbortController();
    stop.abort();
    const large = file("large.bin", Buffer.alloc(3_000_000));
    await expect(dispatcher.dispatch({ goal: "x", attachments: [large], signal: stop.signal })).rejects.toThrow();
    nothing(records);
  });
});

describe("attachments", () => {
  it("of one name both stay, hostile names are made plain, and the child's copies are restored from the originals", async () => {
    const paths: string[] = [];
    const { dispatcher, place } = bench([
      runnerOf(({ cwd, prompt, onEvent }) => {
        const listed = [...prompt.matchAll(/at (attachments\/.+?);/g)].map(([, path = ""]) => path);
        paths.push(...listed);
        writeFileSync(join(cwd, listed[0] ?? ""), "changed");
        onEvent({ type: "answer", text: readFileSync(join(cwd, listed[1] ?? ""), "utf8") });
      }),
    ]);
    for (const folder of ["a", "b"]) {
      mkdirSync(join(place.base, folder));
      writeFileSync(join(place.base, folder, "same $(x).txt"), folder);
    }
    const task = await (
      await dispatcher.dispatch({ goal: "", attachments: ["a/same $(x).txt", { path: "b/same $(x).txt" }] })
    ).result;
    expect(task.title).toBe("same $(x).txt");
    expect(task.result).toBe("b");
    expect(paths.map((path) => path.replace(/\/[0-9a-f]{8}\//, "/ID/"))).toEqual([
      "attachments/ID/01-same _(x).txt",
      "attachments/ID/02-same _(x).txt",
    ]);
    expect(task.steps).toContain("Restored same $(x).txt: the run had changed its working copy.");
    const original = await dispatcher.openFile(task.id, task.files[0]?.id ?? "");
    expect(await text(original.stream)).toBe("a");
  });

  it("that are damaged or encrypted are noted, and the task runs", async () => {
    let told = "";
    const { dispatcher, file } = bench([
      runnerOf(({ prompt, onEvent }) => {
        told = prompt;
        onEvent({ type: "answer", text: "ok" });
      }),
    ]);
    const task = await (
      await dispatcher.dispatch({
        goal: "g",
        attachments: [
          file("bad.xlsx", "PK no"),
          file("e.txt", ""),
          file("locked.xlsx", await workbook([{ name: "S", cells: [{ at: "A1", value: 1 }] }], "secret")),
          file("locked.pdf", await pdf(["words"], "secret")),
          file("bad.docx", "no"),
        ],
      })
    ).result;
    expect(task.status).toBe("completed");
    expect(told).toMatch(
      /1\. bad\.xlsx \(spreadsheet, 5 bytes\) at attachments\/[0-9a-f]{8}\/01-bad\.xlsx; no text: .*damaged/,
    );
    expect(told).toMatch(/2\. e\.txt .* no text: the file is empty/);
    expect(told).toMatch(/3\. locked\.xlsx .* no text: .*password/);
    expect(told).toMatch(/4\. locked\.pdf .* no text: .*password/);
    expect(told).toMatch(/5\. bad\.docx .* no text: /);
    expect(told).toContain("Spreadsheets: bad.xlsx, locked.xlsx.");
    expect(task.files).toHaveLength(5);
  });
});

describe("a run that leaves its directory", () => {
  it("gets nothing collected from outside, and a link is named in a step", async () => {
    const { dispatcher, place } = bench([
      runnerOf(({ cwd, onEvent }) => {
        symlinkSync("/etc/hostname", join(cwd, "output", "stolen.txt"));
        symlinkSync(place.base, join(cwd, "work", "up"));
        writeFileSync(join(cwd, "..", "outside.txt"), "x");
        onEvent({ type: "answer", text: "ok" });
      }),
    ]);
    const task = await (await dispatcher.dispatch({ goal: "g" })).result;
    expect([...task.outputs, ...task.intermediates]).toEqual([]);
    expect(task.steps).toEqual(
      expect.arrayContaining([
        "Not collected: output/stolen.txt is a symbolic link.",
        "Not collected: work/up is a symbolic link.",
      ]),
    );
  });

  it("that it was given has its changes named, not collected, and nothing of it removed", async () => {
    const { dispatcher, place } = bench([
      runnerOf(({ cwd, prompt, onEvent }) => {
        const base = /lie in (\S+) below/.exec(prompt)?.[1] ?? "";
        writeFileSync(join(cwd, base, "output", "o.txt"), "o");
        writeFileSync(join(cwd, "new.txt"), "n");
        writeFileSync(join(cwd, "old.txt"), "changed content");
        onEvent({ type: "answer", text: `in ${base}output/o.txt` });
      }),
    ]);
    const cwd = join(place.base, "project");
    mkdirSync(cwd);
    for (const name of ["old.txt", "same.txt"]) writeFileSync(join(cwd, name), "x");
    const task = await (await dispatcher.dispatch({ goal: "g", cwd })).result;
    expect(task.outputs.map(({ filename }) => filename)).toEqual(["o.txt"]);
    expect(task.intermediates).toEqual([]);
    expect(task.result).toBe("in o.txt");
    expect(task.steps).toContain("Changed in the working directory: new.txt, old.txt.");
    expect(readdirSync(cwd).sort()).toEqual(["new.txt", "old.txt", "same.txt"]);
  });
});

describe("a CLI runner", () => {
  const event = (value: unknown) => `line(${JSON.stringify(value)});`;
  const message = (content: unknown, more = {}) => ({
    type: "message_end",
    message: {
      role: "assistant",
      provider: "p",
      model: "m",
      content,
      stopReason: "stop",
      usage: { input: 3, output: 2, cacheRead: 40, cacheWrite: 1, cost: { total: 0.25 } },
      ...more,
    },
  });

  it("gets the prompt on its closed standard input and is read as its lines arrive", async () => {
    const source = `
      let input = ""; process.stdin.on("data", (piece) => { input += piece; }).on("end", () => {
        ${event({ type: "tool_execution_start", toolName: "bash", args: { command: "ls -la" } })}
        line({ type: "message_end", message: { role: "assistant", provider: "p", model: "m", content: [{ type: "text", text: input.length + " " + input.includes("LONG") + " " + process.argv.includes(input) }], stopReason: "stop", usage: { input: 3, output: 2, cacheRead: 40, cacheWrite: 1, cost: { total: 0.25 } } } });
      });`;
    const { dispatcher } = bench([scriptRunner(source)]);
    const task = await (await dispatcher.dispatch({ goal: `LONG ${"x".repeat(49_000)}` })).result;
    expect(task).toMatchObject({ status: "completed", runner: "cli", category: null, steps: ["Ran: ls -la"] });
    expect(task.result).toMatch(/^49\d\d\d true false$/);
    expect(task.usage).toMatchObject([{ model: "p/m", input: 4, output: 2, cached: 40, amount: 0.25 }]);
  });

  it("that cannot start, ends early, prints garbage or says nothing fails with the reason", async () => {
    const failing = async (runner: ReturnType<typeof scriptRunner>) => {
      const { dispatcher } = bench([runner]);
      const task = await (await dispatcher.dispatch({ goal: "g" })).result;
      expect(task.status).toBe("failed");
      return task.error;
    };
    expect(await failing(scriptRunner("", { command: () => ["/no/such/program"] }))).toMatch(
      /could not be started: .*ENOENT/,
    );
    expect(await failing(scriptRunner("process.stderr.write('no key'); process.exit(3)"))).toBe(
      "the runner ended with code 3: no key",
    );
    expect(await failing(scriptRunner("console.log('hello'); console.log('{}')"))).toMatch(
      /printed 2 lines that are no events/,
    );
    expect(await failing(scriptRunner(""))).toBe("the runner ended without a word");
    expect(
      await failing(
        scriptRunner(event(message([{ type: "text", text: "" }], { stopReason: "error", errorMessage: "overloaded" }))),
      ),
    ).toBe("overloaded");
    expect(await failing(scriptRunner(event({ type: "agent_start" })))).toBe("the run ended without an answer");
  });

  it("names no file of ours in its errors", async () => {
    const { dispatcher, place } = bench([
      runnerOf(({ cwd, membership }) => {
        throw new Error(`cannot open ${cwd}/output/a.txt of ${membership.storageRoot}/tasks`);
      }),
    ]);
    const { error } = await (await dispatcher.dispatch({ goal: "g" })).result;
    expect(error).toBe("cannot open a.txt of tasks");
    expect(error).not.toContain(place.base);
  });

  it("keeps what was used when it fails", async () => {
    const { dispatcher } = bench([
      scriptRunner(`${event(message([], { stopReason: "error", errorMessage: "late" }))} process.exitCode = 1;`),
    ]);
    const task = await (await dispatcher.dispatch({ goal: "g" })).result;
    expect(task).toMatchObject({ status: "failed", usage: [{ cached: 40 }] });
  });

  it("that hangs and ignores every signal is killed within a bound", async () => {
    const { dispatcher, records } = bench([
      scriptRunner("process.on('SIGTERM', () => {}); setInterval(() => line({ type: 'tick' }), 50);"),
    ]);
    const handle = await dispatcher.dispatch({ goal: "g" });
    await new Promise((resolve) => setTimeout(resolve, 200));
    const before = Date.now();
    await handle.cancel();
    expect(Date.now() - before).toBeLessThan(2_000);
    expect(await handle.result).toMatchObject({ status: "cancelled" });
    expect(readdirSync(join(records, "..", "work"))).toEqual([]);
  });

  it("that hangs without a word is stopped by a bound, and nothing is left", async () => {
    const { dispatcher, records } = bench(
      [scriptRunner("process.on('SIGTERM', () => {}); setInterval(() => {}, 1_000);")],
      { limits: { silenceLimitMs: 300, stopLimitMs: 5_000 } },
    );
    const task = await (await dispatcher.dispatch({ goal: "g" })).result;
    expect(task).toMatchObject({ status: "failed", error: expect.stringContaining("nothing was heard"), outputs: [] });
    expect(readdirSync(join(records, "..", "work"))).toEqual([]);
  });

  it("gets no content of a category", async () => {
    const { dispatcher, task } = bench([scriptRunner("")]);
    await task.join();
    await task.registry.setCategory("/root", "s");
    await expect(dispatcher.dispatch({ goal: "g" })).rejects.toThrow(/category s does not run on the runner cli/);
    await expect(dispatcher.dispatch({ goal: "g", category: "s" })).rejects.toThrow(/does not run on the runner cli/);
    const handle = await dispatcher.dispatch({ goal: "g", category: null });
    expect(await handle.result).toMatchObject({ category: null });
  });
});
