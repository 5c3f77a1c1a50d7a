// Removing a task takes its own agents with it, and nobody else's; what could not be finished is finished by the next try.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { agentOfRun, agentsOfRuns } from "../../src/dispatch/record/rules.ts";
import { thisProcess } from "../../src/storage/processes.ts";
import { Registry } from "../../src/task/registry.ts";
import type { AgentState, Registration } from "../../src/task/roster.ts";
import { answering, bench } from "./dispatchers.ts";

const agentAt = (address: string, state: AgentState = { type: "ended" }): Registration => ({
  ...{ address, named: true, parent: "/root", declared: null, sessionFile: null, state },
  ...{ sessionId: `s${address}`, sessionKey: `s${address}`, created: "2025-01-02T03:04:05.678Z" },
});

function journalIn(registry: Registry, address: string): string {
  const folder = registry.historyOf(address);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "journal.jsonl"), "{}\n");
  return folder;
}

describe("the agents of a task's runs", () => {
  it("keep a name that looks like another run's", () => {
    expect(agentsOfRuns({ agent: "/root/job_run2", runs: 1 })).toEqual(["/root/job_run2"]);
    expect(agentOfRun({ agent: "/root/job_run2", runs: 1 }, 2)).toBe("/root/job_run2_run2");
    expect(agentsOfRuns({ agent: "/root/job_run2_run2", runs: 2 })).toEqual(["/root/job_run2", "/root/job_run2_run2"]);
    expect(agentsOfRuns({ agent: "/root/job_run3", runs: 3 })).toEqual([
      "/root/job",
      "/root/job_run2",
      "/root/job_run3",
    ]);
  });

  it("have names that no dispatch may choose", async () => {
    const { dispatcher } = bench([answering("x")]);
    for (const agentName of ["job_run2", "/root/job_run12", "job_run2/helper"])
      await expect(dispatcher.dispatch({ goal: "g", agentName })).rejects.toThrow(/those of later runs/);
    expect((await dispatcher.dispatch({ goal: "g", agentName: "job_runner" })).task.agent).toBe("/root/job_runner");
  });
});

describe("removing a task", () => {
  it("leaves an agent whose name is that of its own without the number", async () => {
    const { dispatcher, task, records } = bench([answering("x")]);
    const { id } = await (await dispatcher.dispatch({ goal: "g", agentName: "job_runner" })).result;
    const registry = new Registry({ context: task.context });
    await registry.register(agentAt("/root/job"));
    const journal = journalIn(registry, "/root/job");
    // A record of before such names were refused.
    const file = join(records, `${id}.json`);
    writeFileSync(file, readFileSync(file, "utf8").replaceAll("/root/job_runner", "/root/job_run2"));
    await dispatcher.remove(id);
    expect(existsSync(journal)).toBe(true);
    expect(registry.read().map(({ address }) => address)).toContain("/root/job");
  });

  it("is refused whole while one of its agents runs", async () => {
    const { dispatcher, task } = bench([answering("x")]);
    const { id, agent } = await (await dispatcher.dispatch({ goal: "g" })).result;
    const registry = new Registry({ context: task.context });
    const { pid, start } = thisProcess();
    await registry.register(agentAt(`${agent}/helper`, { type: "running", pid, processStart: start }));
    const journal = journalIn(registry, agent);
    await expect(dispatcher.remove(id)).rejects.toThrow(/runs/);
    expect((await dispatcher.get(id)).status).toBe("completed");
    expect(existsSync(journal)).toBe(true);
    await registry.markEnded(`${agent}/helper`, pid);
    await dispatcher.remove(id);
    expect(existsSync(journal)).toBe(false);
  });

  it("takes the journals of agents that the registry has forgotten already", async () => {
    const { dispatcher, task } = bench([answering("x")]);
    const { id, agent } = await (await dispatcher.dispatch({ goal: "g" })).result;
    const registry = new Registry({ context: task.context });
    const journal = journalIn(registry, agent);
    expect(registry.read().map(({ address }) => address)).not.toContain(agent);
    await dispatcher.remove(id);
    expect(existsSync(journal)).toBe(false);
  });

  it("leaves the agent of another task that got the name after it", async () => {
    const { dispatcher, task } = bench([answering("x")]);
    const agentName = "reviewer";
    const { id } = await (await dispatcher.dispatch({ goal: "never joined", agentName })).result;
    const second = await (await dispatcher.dispatch({ goal: "g", agentName })).result;
    const journal = journalIn(new Registry({ context: task.context }), second.agent);
    await dispatcher.remove(id);
    expect(existsSync(journal)).toBe(true);
    await dispatcher.remove(second.id);
    expect(existsSync(journal)).toBe(false);
  });
});
