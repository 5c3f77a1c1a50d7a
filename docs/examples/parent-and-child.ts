// parent-and-child.mjs in TypeScript: two Pi sessions of one root task, and each reads the other's note. On Pi 0.84.4 or
// later the packages of Pi are `@earendil-works/pi-ai` and `@earendil-works/pi-coding-agent`; nothing else changes.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AssistantMessage, createAssistantMessageEventStream } from "@mariozechner/pi-ai";
import {
  type AgentSession,
  createAgentSession,
  DefaultResourceLoader,
  type ExtensionAPI,
  type ExtensionFactory,
  SessionManager,
  SettingsManager,
} from "@mariozechner/pi-coding-agent";
import {
  createTokenBudgetExtension,
  getTokenBudgetTask,
  type TaskMembership,
  type ToolName,
} from "pi-token-budget/api";

// Everything Pi writes goes here; a real program leaves both lines out.
const folder = mkdtempSync(join(tmpdir(), "parent-and-child-"));
Object.assign(process.env, { PI_CODING_AGENT_DIR: join(folder, "agent"), PI_OFFLINE: "1" });

type Answer = string | readonly [tool: ToolName, args: Record<string, string>];

/**
 * A model that answers request by request from a list: a text, or a call as `[tool, arguments]`. Providers of 0.73.1
 * belong to the whole process, so each session's has a name of its own.
 */
function scriptedModel(provider: string, answers: readonly Answer[]): ExtensionFactory {
  let requests = 0;
  const answer = (model: { readonly api: string; readonly id: string }): AssistantMessage => {
    const next = answers[requests++] ?? "Nothing more to say.";
    const isText = typeof next === "string";
    const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
    return {
      role: "assistant",
      content: isText
        ? [{ type: "text", text: next }]
        : [{ type: "toolCall", id: `call_${requests}`, name: next[0], arguments: next[1] }],
      api: model.api,
      provider,
      model: model.id,
      usage: { input: 1_000, output: 10, cacheRead: 0, cacheWrite: 0, totalTokens: 1_010, cost },
      stopReason: isText ? "stop" : "toolUse",
      timestamp: Date.now(),
    };
  };
  return (pi) => {
    pi.registerProvider(provider, {
      baseUrl: "http://127.0.0.1:9",
      apiKey: "none",
      api: `${provider}-api`,
      models: [
        {
          id: "m",
          name: "m",
          reasoning: false,
          input: ["text"],
          cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
          contextWindow: 200_000,
          maxTokens: 4_096,
        },
      ],
      streamSimple: (model) => {
        const stream = createAssistantMessageEventStream();
        const message = answer(model);
        stream.push({ type: "start", partial: message });
        stream.push({ type: "done", reason: message.stopReason === "toolUse" ? "toolUse" : "stop", message });
        stream.end();
        return stream;
      },
    });
    pi.on("session_start", async (_event, ctx) => {
      const model = ctx.modelRegistry.find(provider, "m");
      if (model) await pi.setModel(model);
    });
  };
}

/** A session with these extensions, as programs open one. */
async function openSession(name: string, extensionFactories: ExtensionFactory[]): Promise<AgentSession> {
  const cwd = join(folder, name);
  const agentDir = join(folder, "agent");
  for (const path of [cwd, agentDir]) mkdirSync(path, { recursive: true });
  const settingsManager = SettingsManager.create(cwd, agentDir);
  const resourceLoader = new DefaultResourceLoader({
    cwd,
    agentDir,
    settingsManager,
    extensionFactories,
    noExtensions: true,
    noSkills: true,
    noPromptTemplates: true,
    noThemes: true,
    noContextFiles: true,
  });
  await resourceLoader.reload();
  const sessionManager = SessionManager.create(cwd, join(folder, "sessions", name));
  const { session } = await createAgentSession({ cwd, agentDir, resourceLoader, settingsManager, sessionManager });
  // Extensions start here; before that there is no task to be found.
  await session.bindExtensions({});
  return session;
}

/** Ends a session as quitting Pi does: its extensions are told, and the registry no longer says that it runs. */
async function endSession(session: AgentSession): Promise<void> {
  await session.extensionRunner.emit({ type: "session_shutdown", reason: "quit" });
  session.dispose();
}

/** The texts that a tool of a session answered, without the line above each that says what it is. */
function textsOf(session: AgentSession, tool: ToolName): string[] {
  return session.messages.flatMap((message) => {
    if (message.role !== "toolResult" || message.toolName !== tool) return [];
    const text = message.content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
    if (message.isError) throw new Error(text);
    return [text.slice(text.indexOf("\n") + 1).trim()];
  });
}

// 1. The parent: a session with this package, and a hold on Pi's interface to ask for its task.
const interfaces: ExtensionAPI[] = [];
const parentModel = scriptedModel("parent", [
  ["notes_write_file", { path: "plan.md", text: "Look for long functions.\n" }],
  "The plan is saved.",
  ["notes_read_file", { path: "/root/helper/notes/found.md" }],
  "The helper is done.",
]);
const parent = await openSession("parent", [
  createTokenBudgetExtension(),
  parentModel,
  (pi) => {
    interfaces.push(pi);
  },
]);
await parent.prompt("Make a plan.");

// 2. The child: the parent's context and a name make it an agent of the parent's task.
const [parentPi] = interfaces;
const task = parentPi && getTokenBudgetTask(parentPi);
if (!task) throw new Error("the parent has no root task");
const membership: TaskMembership = { ...task.context, parentAgentName: task.agentName, agentName: "helper" };
const childModel = scriptedModel("child", [
  ["notes_read_file", { path: "/root/notes/plan.md" }],
  ["notes_write_file", { path: "found.md", text: "Two functions are too long.\n" }],
  "Found two.",
]);
const child = await openSession("child", [createTokenBudgetExtension({ task: membership }), childModel]);
await child.prompt("Carry out the plan of /root.");

// 3. The parent reads what the child wrote.
await parent.prompt("What did the helper find?");

for (const { agentName, running } of task.agents()) console.log(`agent ${agentName}, running: ${running}`);
console.log(`the child read: ${textsOf(child, "notes_read_file")[0]}`);
console.log(`the parent read: ${textsOf(parent, "notes_read_file")[0]}`);

await endSession(child);
await endSession(parent);
rmSync(folder, { recursive: true, force: true });
