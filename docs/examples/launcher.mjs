// A launcher: a parent in this process, two children in worker processes, and a reader that needs no model. It works in the
// current folder with your default model, and needs `pi-token-budget` and Pi, by either of its names:
//   node launcher.mjs "Plan a review of src as the note plan.md." "Do the first half of /root's plan." "Do the second half."
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { createTokenBudgetExtension, getTokenBudgetTask, openTask } from "pi-token-budget/api";

const { createAgentSession, DefaultResourceLoader, getAgentDir, SessionManager, SettingsManager } = await import(
  "@earendil-works/pi-coding-agent"
).catch(() => import("@mariozechner/pi-coding-agent"));

/** A session with these extensions, and none that are installed. */
async function openSession(...extensionFactories) {
  const [cwd, agentDir] = [process.cwd(), getAgentDir()];
  const settingsManager = SettingsManager.create(cwd, agentDir);
  const loading = { cwd, agentDir, settingsManager, extensionFactories, noExtensions: true };
  const resourceLoader = new DefaultResourceLoader(loading);
  await resourceLoader.reload();
  const sessionManager = SessionManager.create(cwd);
  const { session } = await createAgentSession({ cwd, agentDir, settingsManager, resourceLoader, sessionManager });
  // Extensions start here; with `required`, a child that cannot join its task says why here.
  await session.bindExtensions({ onError: ({ error }) => console.error(error) });
  return session;
}

/** Ends a session as quitting Pi does: the registry no longer says that it runs. */
async function endSession(session) {
  await session.extensionRunner.emit({ type: "session_shutdown", reason: "quit" });
  session.dispose();
}

async function work({ task, prompt }) {
  const session = await openSession(createTokenBudgetExtension({ task }));
  await session.prompt(prompt);
  await endSession(session);
  process.disconnect();
}

/** Starts this program again as a worker; a task is plain JSON. Resolves when it has ended. */
function startWorker(task, prompt) {
  const worker = fork(fileURLToPath(import.meta.url));
  worker.send({ task, prompt });
  return new Promise((resolve) => worker.once("exit", resolve));
}

async function launch(planning, ...parts) {
  let pi;
  const parent = await openSession(createTokenBudgetExtension(), (api) => {
    pi = api;
  });
  await parent.prompt(planning);
  const { context, agentName: parentAgentName } = getTokenBudgetTask(pi);
  const children = parts.map((prompt, n) => {
    return startWorker({ ...context, parentAgentName, agentName: `helper_${n + 1}`, required: true }, prompt);
  });
  await Promise.all(children);
  await endSession(parent);
  await show(context);
}

/** What each agent said last, and all notes. Any program can do this, at any time, with the context alone. */
async function show(context) {
  const task = openTask(context);
  for (const { agentName } of task.agents()) {
    const { items } = await task.history.list(agentName, { recentFirst: true, limit: 1 });
    console.log(`${agentName}: ${items[0]?.preview}`);
    for (const { path } of await task.notes.list(agentName)) {
      const { text } = await task.notes.read(agentName, path);
      console.log(`  ${path}: ${text.trim()}`);
    }
  }
}

if (process.send) process.once("message", work);
else await launch(...process.argv.slice(2));
