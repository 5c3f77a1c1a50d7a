// Two Pi sessions of one root task: a parent, and a child that this program joins to it. Each reads the other's note.
// Plain JavaScript on plain Node, offline: a scripted model answers. It needs `pi-token-budget` and Pi itself, either
// `@earendil-works/pi-coding-agent` (0.84.4 or later) or `@mariozechner/pi-coding-agent` (0.73.1).
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTokenBudgetExtension, getTokenBudgetTask } from "pi-token-budget/api";

// Everything Pi writes goes here; a real program leaves both lines out.
const folder = mkdtempSync(join(tmpdir(), "parent-and-child-"));
Object.assign(process.env, { PI_CODING_AGENT_DIR: join(folder, "agent"), PI_OFFLINE: "1" });

const importPi = (name) => import(`@earendil-works/${name}`).catch(() => import(`@mariozechner/${name}`));
const { createAgentSession, DefaultResourceLoader, SessionManager, SettingsManager } =
  await importPi("pi-coding-agent");
const { createAssistantMessageEventStream } = await importPi("pi-ai");

/**
 * A model that answers request by request from a list: a text, or a call as `[tool, arguments]`. Providers of 0.73.1
 * belong to the whole process, so each session's has a name of its own.
 */
function scriptedModel(provider, answers) {
  let requests = 0;
  const answer = ({ api, id }) => {
    const next = answers[requests++];
    const [name, args] = Array.isArray(next) ? next : [];
    const content = name
      ? [{ type: "toolCall", id: `call_${requests}`, name, arguments: args }]
      : [{ type: "text", text: next }];
    const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
    const usage = { input: 1_000, output: 10, cacheRead: 0, cacheWrite: 0, totalTokens: 1_010, cost };
    const stopReason = name ? "toolUse" : "stop";
    return { role: "assistant", content, api, provider, model: id, usage, stopReason, timestamp: Date.now() };
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
        stream.push({ type: "done", reason: message.stopReason, message });
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
async function openSession(name, extensionFactories) {
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
async function endSession(session) {
  await session.extensionRunner.emit({ type: "session_shutdown", reason: "quit" });
  session.dispose();
}

/** The texts that a tool of a session answered, without the line above each that says what it is. */
function textsOf(session, tool) {
  const results = session.messages.filter(({ role, toolName }) => role === "toolResult" && toolName === tool);
  return results.map(({ content, isError }) => {
    const text = content.map((block) => block.text ?? "").join("\n");
    if (isError) throw new Error(text);
    return text.slice(text.indexOf("\n") + 1).trim();
  });
}

// 1. The parent: a session with this package, and a hold on Pi's interface to ask for its task.
let parentPi;
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
    parentPi = pi;
  },
]);
await parent.prompt("Make a plan.");

// 2. The child: the parent's context and a name make it an agent of the parent's task.
const task = getTokenBudgetTask(parentPi);
if (!task) throw new Error("the parent has no root task");
const membership = { ...task.context, parentAgentName: task.agentName, agentName: "helper" };
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
