// What a session without a file writes is gone with it; after a crash, see ephemeral-crash.test.ts. And `/token-budget
// forget`, which does the same for a session with a file. Neither touches what somebody runs.
import { existsSync, lstatSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { getTokenBudgetTask } from "../../api.ts";
import { runPi } from "../../fixtures/pi/cli.ts";
import { currentAgentDir } from "../../fixtures/pi/environment.ts";
import { loadHost } from "../../fixtures/pi/hosts.ts";
import { call } from "../../fixtures/pi/scripted-model.ts";
import type { OpenOptions, PiSession } from "../../fixtures/pi/session.ts";
import { closeAfterEach, pi } from "./support.ts";

closeAfterEach();

const WAIT_MS = 120_000;

/** Every file below a folder, as paths from it. */
function filesIn(folder: string): string[] {
  try {
    const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
    return names.filter((name) => lstatSync(join(folder, name), { throwIfNoEntry: false })?.isFile());
  } catch {
    // Not there, or removed while it was read.
    return [];
  }
}

const memoryIn = (agentDir: string) => join(agentDir, "pi-token-budget", "memory");
const note = () => call("notes_write_file", { path: "secret.md", text: "the key is 4711" });

async function until(condition: () => boolean, what: string): Promise<void> {
  for (const deadline = Date.now() + WAIT_MS; !condition(); ) {
    if (Date.now() > deadline) throw new Error(`not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function command(s: PiSession, text: string): Promise<string> {
  const before = s.ui.notices.length;
  await s.prompt(text);
  return s.ui.notices
    .slice(before)
    .map(({ message }) => message)
    .join("\n");
}

describe("a session without a file", () => {
  it("leaves nothing of what it wrote when `pi --no-session` ends", async () => {
    const ran = await runPi({ model: [[note()], [call("new_context")], "done"], prompt: "go", args: ["--no-session"] });
    expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: "done\n", stderr: "" });
    expect(filesIn(join(ran.environment.agentDir, "pi-token-budget"))).toEqual([]);
    expect(existsSync(join(memoryIn(ran.environment.agentDir), "sessions"))).toBe(false);
    expect(ran.sessionFiles).toEqual([]);
    ran.environment.remove();
  });

  it("keeps what others need in a private place while it runs, through a reload too", async () => {
    const s = await pi({ session: "memory", next: (_request, n) => (n === 0 ? [note()] : "done") });
    await s.prompt("go");
    const folder = join(memoryIn(currentAgentDir()), s.session.sessionId);
    expect(filesIn(folder).filter((name) => name.endsWith("secret.md"))).toHaveLength(1);
    for (const place of [memoryIn(currentAgentDir()), folder]) expect(lstatSync(place).mode & 0o777).toBe(0o700);
    await s.session.reload();
    expect((await s.callTool("notes_read_file", { path: "secret.md" })).content).toMatchObject([
      { text: expect.stringContaining("4711") },
    ]);
    await s.dispose();
    expect(existsSync(folder)).toBe(false);
  });
});

/** What the registry of a root task says of its root; undefined when there is none. */
function rootState(storageRoot: string, id: string): string | undefined {
  const file = join(storageRoot, "tasks", id, "registry.json");
  if (!existsSync(file)) return undefined;
  const { agents } = JSON.parse(readFileSync(file, "utf8")) as {
    readonly agents: readonly { readonly address: string; readonly state: { readonly type: string } }[];
  };
  return agents.find(({ address }) => address === "/root")?.state.type;
}

describe("a session that is open is seen to run", () => {
  interface Api {
    readonly events: Parameters<typeof getTokenBudgetTask>[0]["events"];
    on(event: "session_start" | "session_shutdown", seen: () => void): void;
  }
  const extension = (start: (api: Api) => void) => [start] as unknown as NonNullable<OpenOptions["factories"]>;

  it("through a reload, and when it is opened again and nobody speaks in it", async () => {
    const seen: string[] = [];
    let look = (): string | undefined => undefined;
    // Behind the package: what it does at either moment is done.
    const factories = extension((api) => {
      for (const event of ["session_start", "session_shutdown"] as const)
        api.on(event, () => void seen.push(`${event}: ${look()}`));
    });
    const s = await pi({ factories, next: (_request, n) => (n === 0 ? [note()] : "done") });
    const file = s.session.sessionFile ?? "";
    look = () => rootState(join(dirname(file), "pi-token-budget"), s.session.sessionId);
    await s.prompt("go");
    seen.length = 0;
    await s.session.reload();
    expect(seen).toEqual(["session_shutdown: running", "session_start: running"]);
    await s.dispose();
    expect(look()).toBe("ended");
    seen.length = 0;
    await pi({ session: { path: file }, factories, next: () => "done" });
    expect(seen).toEqual(["session_start: running"]);
  });

  it("from when its context is given to others, though nobody has spoken in it", async () => {
    let events: Api["events"] | undefined;
    const factories = extension((api) => {
      events = api.events;
    });
    const s = await pi({ session: "memory", factories, next: () => "done" });
    const context = events && getTokenBudgetTask({ events })?.context;
    const { storageRoot = "none", runId = "none" } = context ?? {};
    await until(() => rootState(storageRoot, runId) === "running", "a root in the registry");
    await s.dispose();
    expect(existsSync(storageRoot)).toBe(false);
  });
});

describe("/token-budget forget", () => {
  const storageOf = (s: PiSession) => join(s.directory, "sessions", "pi-token-budget");

  it("asks, and removes what this session leaves when it ends; Pi's own file stays", async () => {
    const s = await pi({ ui: true, next: (_request, n) => (n === 0 ? [note()] : "done") });
    await s.prompt("go");
    expect(await command(s, "/token-budget forget")).toBe("Nothing will be removed.");
    expect(s.ui.questions).toHaveLength(1);
    s.ui.confirms = true;
    expect(await command(s, "/token-budget forget")).toContain("goes when it ends");
    expect(await command(s, "/token-budget forget")).toContain("It is still removed when the session ends");
    // It is in use until then, and a reload does not forget what was asked.
    await s.session.reload();
    await s.prompt("more");
    expect(filesIn(storageOf(s)).some((name) => name.endsWith("secret.md"))).toBe(true);
    await s.dispose();
    expect(filesIn(storageOf(s)).filter((name) => name !== ".gitignore")).toEqual([]);
    expect(readFileSync(s.session.sessionFile ?? "", "utf8")).toContain("4711");
    expect(filesIn(join(currentAgentDir(), "pi-token-budget")).join()).not.toContain(s.session.sessionId);
  });

  it("is asked of one session: a fork of it in the same process keeps what it has", async () => {
    const s = await pi({ ui: true, next: (_request, n) => (n === 0 ? [note()] : "done") });
    await s.prompt("go");
    s.ui.confirms = true;
    expect(await command(s, "/token-budget forget")).toContain("goes when it ends");
    const { SessionManager } = (await loadHost()).codingAgent;
    const source = SessionManager.open(s.session.sessionFile ?? "", join(s.directory, "sessions"), s.project);
    const file = source.createBranchedSession(source.getLeafId() ?? "") ?? "";
    const fork = await pi({ session: { path: file }, next: (_request, n) => (n === 0 ? [note()] : "done") });
    const id = fork.session.sessionId;
    expect(id).not.toBe(s.session.sessionId);
    expect(JSON.stringify(fork.branch())).toContain("pi-token-budget:forget");
    await fork.prompt("go");
    await fork.dispose();
    const kept = () => filesIn(storageOf(s)).filter((name) => name.endsWith("secret.md"));
    expect(kept().filter((name) => name.includes(id))).toHaveLength(1);
    await s.dispose();
    expect(kept()).toHaveLength(1);
  });

  it("removes an ended session's by its id, and completes it; never that of one that is open", async () => {
    const ended = await pi({ next: (_request, n) => (n === 0 ? [note()] : "done") });
    await ended.prompt("go");
    await ended.dispose();
    const file = ended.session.sessionFile ?? "";
    const folder = join(ended.directory, "sessions");
    const { SessionManager } = (await loadHost()).codingAgent;
    const beside = (path?: string) => (path === undefined ? SessionManager.create(ended.project, folder) : { path });
    const s = await pi({ ui: true, session: beside(), next: () => "hello" });
    await s.prompt("hello");
    s.ui.confirms = true;
    const open = await pi({ session: beside(file), next: () => "again" });
    await open.prompt("again");
    const id = ended.session.sessionId;
    expect(await command(s, `/token-budget forget ${id}`)).toContain("Nothing was removed: the session is open");
    expect(filesIn(folder).some((name) => name.endsWith("secret.md"))).toBe(true);
    await open.dispose();
    expect(await command(s, `/token-budget forget nobody`)).toContain("No session");
    expect(await command(s, `/token-budget forget ${id}`)).toContain(`What session ${id} had left`);
    expect(filesIn(folder).filter((name) => name.includes(id))).toEqual([basename(file)]);
    expect(s.ui.questions.at(-1)).toContain(id);
    // Its own is there.
    expect(filesIn(folder).some((name) => name.includes(`tasks/${s.session.sessionId}`))).toBe(true);
  });

  it("removes nothing where nobody can be asked", async () => {
    const ran = await runPi({ model: ["hello"], prompt: "/token-budget forget" });
    expect(ran.stderr).toContain("Nothing was removed: this asks first");
    ran.environment.remove();
  });
});
