// What a run has written: products keep their folders, and a run that did not come to its end keeps what there is.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { bundled } from "../../fixtures/pi/bundle.ts";
import { until } from "../../fixtures/pi/wait.ts";
import { contentTypeOf } from "../../src/dispatch/files/names.ts";
import type { FileView } from "../../src/dispatch/task-view.ts";
import { newPlace } from "../task/tasks.ts";
import { answering, bench, runnerOf } from "./dispatchers.ts";

function put(cwd: string, path: string, content: string): void {
  const at = join(cwd, path);
  mkdirSync(dirname(at), { recursive: true });
  writeFileSync(at, content);
}

const shown = (files: readonly FileView[]) => files.map(({ path, partial }) => (partial ? `${path} (partial)` : path));

describe("products", () => {
  it("of one name in two folders stay two files with their paths and types", async () => {
    const { dispatcher } = bench([
      runnerOf(({ cwd, onEvent }) => {
        put(cwd, "output/site/css/style.css", "css");
        put(cwd, "output/site/img/style.css", "img");
        put(cwd, "work/check/a.csv", "a");
        put(cwd, "top.txt", "t");
        onEvent({ type: "answer", text: "see output/site/css/style.css" });
      }),
    ]);
    const task = await (await dispatcher.dispatch({ goal: "a site" })).result;
    expect(task.outputs.map(({ path, filename, contentType }) => [path, filename, contentType])).toEqual([
      ["site/css/style.css", "style.css", "text/css"],
      ["site/img/style.css", "style.css", "text/css"],
    ]);
    expect(shown(task.intermediates)).toEqual(["top.txt", "check/a.csv"]);
    expect(task.result).toBe("see site/css/style.css");
    const bytes = await Promise.all(
      task.outputs.map(async ({ id }) => text((await dispatcher.openFile(task.id, id)).stream)),
    );
    expect(bytes).toEqual(["css", "img"]);
  });

  it("have the media type of their extension", () => {
    const types = ["a.css", "a.JS", "a.woff2", "a.webp", "a.xml", "a.mp4", "a.constructor", "a"].map(contentTypeOf);
    expect(types).toEqual([
      ...["text/css", "text/javascript", "font/woff2", "image/webp", "application/xml", "video/mp4"],
      ...["application/octet-stream", "application/octet-stream"],
    ]);
  });
});

describe("a run that does not come to its end keeps what it has written, as partial", () => {
  const writing = runnerOf(async ({ cwd, signal, onEvent, prompt }) => {
    put(cwd, "output/a/half.csv", "1,");
    put(cwd, "work/draft.txt", "d");
    onEvent({ type: "step", text: "written" });
    if (prompt.includes("fail")) throw new Error("no more");
    await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  });

  it("when it fails, is cancelled, or its session ends", async () => {
    const { dispatcher } = bench([writing]);
    const failed = await (await dispatcher.dispatch({ goal: "fail" })).result;
    expect(failed).toMatchObject({ status: "failed", error: "no more", result: null });
    expect(shown(failed.outputs)).toEqual(["a/half.csv (partial)"]);
    expect(shown(failed.intermediates)).toEqual(["draft.txt (partial)"]);
    const handles = [await dispatcher.dispatch({ goal: "one" }), await dispatcher.dispatch({ goal: "two" })];
    for (const { task } of handles)
      await until("its step", async () => (await dispatcher.get(task.id)).steps.length > 0);
    await handles[0]?.cancel();
    await dispatcher.close();
    const ended = await Promise.all(handles.map(({ result }) => result));
    expect(ended.map(({ status, error }) => [status, error])).toEqual([
      ["cancelled", null],
      ["failed", "interrupted"],
    ]);
    for (const task of ended) expect(shown(task.outputs)).toEqual(["a/half.csv (partial)"]);
  });

  it("and a rerun drops the half product", async () => {
    let run = 0;
    const { dispatcher } = bench([
      runnerOf(({ cwd, onEvent }) => {
        put(cwd, `output/${++run}.txt`, "x");
        if (run === 1) throw new Error("first");
        onEvent({ type: "answer", text: "ok" });
      }),
    ]);
    const { id } = await (await dispatcher.dispatch({ goal: "g" })).result;
    const again = await (await dispatcher.rerun(id)).result;
    expect(shown(again.outputs)).toEqual(["2.txt"]);
  });

  it.each([undefined, "project"])("when its process was killed, in %s", async (folder) => {
    const place = newPlace();
    const cwd = folder && join(place.base, folder);
    if (cwd) mkdirSync(cwd);
    const child = bundled(new URL("./children/dispatching.ts", import.meta.url));
    const run = spawn(process.execPath, [child, place.base, ...(cwd ? [cwd] : [])], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const closed = new Promise((resolve) => run.once("close", resolve));
    const id = await new Promise<string>((resolve, reject) => {
      run.stdout.once("data", (piece: Buffer) => resolve(piece.toString().trim()));
      run.once("exit", () => reject(new Error("the child ended early")));
    });
    run.kill("SIGKILL");
    await closed;
    const { dispatcher, work } = bench([answering("x")], { place });
    const task = await dispatcher.get(id);
    expect(task).toMatchObject({ status: "failed", error: "interrupted" });
    expect(shown(task.outputs)).toEqual(["site/half.html (partial)"]);
    expect(existsSync(work) ? readdirSync(work) : []).toEqual([]);
    if (cwd) expect(readdirSync(cwd)).toEqual([]);
  });
});

describe("a record of format 1", () => {
  it("is read: its files have their names as paths, and are whole", async () => {
    const { dispatcher, records } = bench([
      runnerOf(({ cwd, onEvent }) => {
        put(cwd, "output/a.txt", "a");
        onEvent({ type: "answer", text: "ok" });
      }),
    ]);
    const task = await (await dispatcher.dispatch({ goal: "g" })).result;
    const file = join(records, `${task.id}.json`);
    const record = JSON.parse(readFileSync(file, "utf8")) as { files: Record<string, unknown>[] };
    const files = record.files.map(({ path: _path, partial: _partial, ...old }) => old);
    writeFileSync(file, JSON.stringify({ ...record, files, version: 1 }));
    expect(await dispatcher.get(task.id)).toEqual(task);
    expect(await (await dispatcher.rerun(task.id)).result).toMatchObject({ status: "completed" });
  });
});
