// One agent whose journal cannot be read says nothing of the others: lists and bootstraps name what those were asked.
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createTokenBudgetExtension, getTokenBudgetTask, type TaskContext } from "../../api.ts";
import { call, type Script } from "../../fixtures/pi/scripted-model.ts";
import type { OpenOptions } from "../../fixtures/pi/session.ts";
import { taskLayout } from "../../src/task/layout.ts";
import { closeAfterEach, first, pi } from "./support.ts";

closeAfterEach();

/** As a disk or another program may leave it. */
function damage(context: TaskContext, address: string): void {
  const folder = taskLayout(context.storageRoot, context).history(address);
  rmSync(join(folder, "journal.index"), { force: true });
  writeFileSync(join(folder, "journal.jsonl"), "This is no journal.\n");
}

it("first requests of the older agents are told though the newest one's journal is damaged", async () => {
  let events: Parameters<typeof getTokenBudgetTask>[0]["events"] | undefined;
  const factories = [
    (api: { readonly events: typeof events }) => {
      events = api.events;
    },
  ] as unknown as NonNullable<OpenOptions["factories"]>;
  const next: Script = (_request, n) =>
    n === 0 ? [call("read", { path: "x" })] : n === 1 ? [call("new_context")] : "ok";
  const root = await pi({ factories, next });
  const context = events && getTokenBudgetTask({ events })?.context;
  if (!context) throw new Error("no task in this session");
  for (const agentName of ["oldest", "older", "newest"]) {
    const child = await pi({
      bare: true,
      factories: [createTokenBudgetExtension({ task: { ...context, agentName } })],
      next: () => "ok",
    });
    await child.prompt(`Be the ${agentName} child.`);
  }
  damage(context, "/root/newest");

  const [block] = (await root.callTool("get_context_remaining", {})).content;
  const remaining = JSON.parse(block?.type === "text" ? block.text : "{}");
  expect(remaining.agents).toEqual(["/root", "/root/oldest", "/root/older", "/root/newest"]);
  expect(remaining.first_requests).toEqual({
    "/root/oldest": "Be the oldest child.",
    "/root/older": "Be the older child.",
  });

  await root.prompt("Start.");
  const bootstrap = first(root.requests[2]);
  expect(bootstrap).toContain("/root/older — Be the older child.");
  expect(bootstrap).toContain("/root/oldest — Be the oldest child.");
  expect(bootstrap).toContain("/root/newest");
});
