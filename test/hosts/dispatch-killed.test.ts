// A real Pi that dispatches a task and is killed in the middle: at the next start of its session the task has an end.
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import { expect, it } from "vitest";
import { createTaskDispatcher, getTokenBudgetTask } from "../../api.ts";
import { prepareCli } from "../../fixtures/pi/cli.ts";
import { openPi } from "../../fixtures/pi/session.ts";

const LIMIT_MS = 60_000;
/** Answers the person, and leaves the task waiting. */
const MODEL = `(request) => request.systemPrompt.startsWith("You carry out one task")
  ? { content: [{ type: "text", text: "late" }], delayMs: ${LIMIT_MS} }
  : "hello"`;

async function until<T>(what: string, found: () => T | undefined): Promise<T> {
  for (const deadline = Date.now() + LIMIT_MS; Date.now() < deadline; await sleep(20)) {
    const value = found();
    if (value !== undefined) return value;
  }
  throw new Error(`no ${what}`);
}

interface StoredRecord {
  readonly task: { readonly id: string; readonly status: string; readonly error: string | null };
}

function recordIn(sessionFile: string): StoredRecord | undefined {
  const tasks = join(dirname(sessionFile), "pi-token-budget", "tasks");
  const [run] = existsSync(tasks) ? readdirSync(tasks) : [];
  const records = join(tasks, run ?? "", "records");
  if (run === undefined || !existsSync(records)) return undefined;
  const name = readdirSync(records).find((each) => each.endsWith(".json"));
  return name === undefined ? undefined : (JSON.parse(readFileSync(join(records, name), "utf8")) as StoredRecord);
}

it("its task is failed: interrupted, and can be run again", { timeout: 2 * LIMIT_MS }, async () => {
  const { command, args, cwd, env, environment, requests, sessionFiles } = prepareCli({ model: { source: MODEL } });
  const killed = spawn(command, [...args, "--mode", "rpc"], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["pipe", "ignore", "ignore"],
  });
  const ended = new Promise((resolve) => killed.once("close", resolve));
  const asked = (n: number) => {
    try {
      return requests()[n];
    } catch {
      // The child is just writing it.
      return undefined;
    }
  };
  const say = (message: string) => killed.stdin.write(`${JSON.stringify({ type: "prompt", message })}\n`);
  say("hello");
  await until("answer", () => asked(0));
  const file = await until("session file", () => sessionFiles().find((path) => !path.includes("pi-token-budget/")));
  say("/task Think for a long time");
  await until("request of the task", () => asked(1));
  killed.kill("SIGKILL");
  await ended;
  expect(recordIn(file)?.task).toMatchObject({ status: "processing", error: null });

  let api: ExtensionAPI | undefined;
  const keep = (given: ExtensionAPI) => {
    api = given;
  };
  const pi = await openPi({ next: () => "at last", provider: "scripted", session: { path: file }, factories: [keep] });
  try {
    expect(basename(pi.session.sessionFile ?? "")).toBe(basename(file));
    const stored = recordIn(file);
    expect(stored?.task).toMatchObject({ status: "failed", error: "interrupted" });
    const task = api && getTokenBudgetTask(api);
    if (!task || !stored) throw new Error("no task");
    const dispatcher = createTaskDispatcher(task);
    const again = await (await dispatcher.rerun(stored.task.id)).result;
    expect(again).toMatchObject({ status: "completed", result: "at last", error: null });
    await dispatcher.close();
    expect(pi.errors).toEqual([]);
  } finally {
    await pi.dispose();
    environment.remove();
  }
});
