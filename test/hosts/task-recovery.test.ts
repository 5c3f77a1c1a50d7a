// Tasks of processes that died, as a person and a model learn of them: at the next start, and in a session that lives on.
import nodeFs, { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import type { Request } from "../../fixtures/pi/scripted-model.ts";
import { until } from "../../fixtures/pi/wait.ts";
import { newId, RECORD_FORMAT_VERSION } from "../../src/dispatch/record/schema.ts";
import { RecordStore } from "../../src/dispatch/record/store.ts";
import { TASK_CONTEXT_VERSION, type TaskContext } from "../../src/task/context.ts";
import { closeAfterEach, pi, said, texts } from "./support.ts";

closeAfterEach();

/** A process that is gone. */
const GONE = { pid: 2 ** 22 + 1, start: null };
const isTask = ({ systemPrompt }: Request) => systemPrompt.startsWith("You carry out one task");
const next = (request: Request) => (isTask(request) ? "done" : "hello");
const options = { ui: true, next, provider: "scripted" } as const;

/** The records of the session's root task. */
function recordsOf(sessionFile: string) {
  const storageRoot = join(dirname(sessionFile), "pi-token-budget");
  const [runId = ""] = readdirSync(join(storageRoot, "tasks"));
  const context: TaskContext = { version: TASK_CONTEXT_VERSION, storageRoot, rootSessionId: runId, runId };
  return { store: new RecordStore(context), folder: join(storageRoot, "tasks", runId, "records") };
}

async function die(store: RecordStore, id: string): Promise<void> {
  await store.update(id, (record) => ({ ...record, task: { ...record.task, status: "processing", process: GONE } }));
}

const told = (request: Request | undefined) => texts(request).filter((each) => each.includes("Tasks of yours"));
const rowIn = (text: string | undefined) => JSON.parse(text?.split("\n").find((line) => line.startsWith("{")) ?? "");

it("are told at the next start, to the person at once and to the model with the next prompt", async () => {
  const first = await pi(options);
  await first.prompt("hello");
  await said(first, "/task Do it");
  await until("its end", () => first.ui.notices.some(({ message }) => message.includes("is completed: Do it.")));
  const path = first.session.sessionFile ?? "";
  await first.dispose();
  const { store } = recordsOf(path);
  const [id = ""] = store.ids();
  await die(store, id);
  const again = await pi({ ...options, session: { path } });
  await until("its end", () =>
    again.ui.notices.some(({ message }) => message.includes(`Task ${id} failed (interrupted): Do it.`)),
  );
  await again.prompt("what now?");
  expect(told(again.requests.at(-1))).toHaveLength(1);
  expect(rowIn(told(again.requests.at(-1))[0])).toEqual({
    id,
    status: "failed",
    goal: "Do it",
    error: "interrupted",
    files: [],
  });
  await again.prompt("and now?");
  expect(told(again.requests.at(-1))).toHaveLength(1);
});

it("have an end where another process looks that lives on, and it is told there", async () => {
  const s = await pi(options);
  await s.prompt("hello");
  await said(s, "/task Do it");
  await until("its end", () => s.ui.notices.some(({ message }) => message.includes("is completed: Do it.")));
  await s.prompt("what now?");
  const { store } = recordsOf(s.session.sessionFile ?? "");
  const [id = ""] = store.ids();
  await die(store, id);
  await said(s, "/tasks");
  const shown = s.ui.notices.map(({ message }) => message);
  expect(shown.findLast((each) => each.includes("goal"))).toMatch(/failed .* Do it/);
  expect(shown.filter((each) => each.includes("failed (interrupted): Do it."))).toHaveLength(1);
  await s.prompt("and now?");
  expect(rowIn(told(s.requests.at(-1)).at(-1))).toMatchObject({ id, status: "failed", error: "interrupted" });
});

it("cost a start nothing that grows with the records there are", async () => {
  const first = await pi(options);
  await first.prompt("hello");
  await said(first, "/task Do it");
  await until("its end", () => first.ui.notices.some(({ message }) => message.includes("is completed: Do it.")));
  const path = first.session.sessionFile ?? "";
  await first.dispose();
  const { store, folder } = recordsOf(path);
  const [id = ""] = store.ids();
  const one = readFileSync(join(folder, `${id}.json`), "utf8");
  expect(JSON.parse(one).version).toBe(RECORD_FORMAT_VERSION);
  for (let n = 0; n < 300; n++) {
    const other = newId();
    mkdirSync(join(folder, other));
    writeFileSync(join(folder, `${other}.json`), one.replaceAll(id, other));
  }
  expect(store.ids()).toHaveLength(301);
  let reads = 0;
  const open = nodeFs.openSync;
  const spy = vi.spyOn(nodeFs, "openSync").mockImplementation((file, ...rest) => {
    if (String(file).startsWith(`${folder}/`) && String(file).endsWith(".json")) reads++;
    return open(file, ...rest);
  });
  onTestFinished(() => spy.mockRestore());
  const again = await pi({ ...options, session: { path } });
  await again.prompt("what now?");
  expect(reads).toBeLessThan(4);
});
