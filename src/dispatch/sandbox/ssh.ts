// Children on another machine, over ssh: the task's directory, this package and what the child may read of the root task are
// copied there before the run, and its files, history and notes are copied back after it. Its keys are those of that machine.
import { basename, join } from "node:path";
import { shownValue } from "../../errors.ts";
import { kindAt, makePrivateDirectory, removeTree, writeNewText } from "../../storage/blobs.ts";
import { NODE_DISK } from "../../storage/disk.ts";
import { RUN_VARIABLE } from "../../storage/processes.ts";
import { CHILD_ENTRY_FILE, writeChildEntry } from "../../subagents/child-entry.ts";
import { Registry } from "../../task/registry.ts";
import { agentAt, type RosterAgent, withRoot } from "../../task/roster.ts";
import { copied, outcomeOf } from "./program.ts";
import { sandboxRefusal } from "./refusal.ts";
import type { ChildProcess, Sandbox } from "./sandbox.ts";
import { quoted, quotedWords } from "./shell.ts";

/** Nobody is there to answer a question, and a dead line has to be noticed. */
const OPTIONS = ["-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=15"];
const TAR = "tar";
const FAR_FOLDER = /^\/[\w./+-]+$/;
const PROMPT_FILE = "prompt.txt";
const THERE = "there";
const BACK = "back";
/** How long what a child has written waits there for being fetched, once the line to it is cut. */
const KEPT_SECONDS = 600;
const KILL_SECONDS = 5;

/**
 * Runs a command with the prompt as its input, and ends it with all of its group when our own input ends: that is when ssh,
 * the line or this machine's Pi is gone.
 */
export function farScript(far: string, command: readonly string[]): string {
  const group = 'kill -$1 -"$p" 2>/dev/null || kill -$1 "$p" 2>/dev/null';
  return [
    "exec 3<&0",
    `cd ${quoted(`${far}/work`)} || exit 1`,
    "S=; command -v setsid >/dev/null 2>&1 && S=setsid",
    `end() { ${group}; }`,
    // What has left the group is known by its environment, where the system shows that.
    `strays() { for e in /proc/[0-9]*/environ; do tr '\\0' '\\n' 2>/dev/null <"$e" | grep -qxF ${quoted(`${RUN_VARIABLE}=${far}`)} && e=\${e#/proc/} && kill -KILL "\${e%/environ}" 2>/dev/null; done; }`,
    `${RUN_VARIABLE}=${quoted(far)} $S ${quotedWords(command)} <${quoted(`${far}/child/${PROMPT_FILE}`)} 3<&- &`,
    "p=$!",
    `(cat <&3; end TERM; sleep ${KILL_SECONDS}; end KILL; strays; sleep ${KEPT_SECONDS}; rm -rf ${quoted(far)}) >/dev/null 2>&1 &`,
    "l=$!",
    'wait "$p"; code=$?',
    "strays 2>/dev/null",
    'kill "$l" 2>/dev/null',
    "exit $code",
  ].join("\n");
}

/** A machine as ssh reaches it. */
class Machine {
  readonly #ssh: string;
  readonly #words: readonly string[];
  readonly #env: ChildProcess["env"];

  constructor(ssh: string, words: readonly string[], env: ChildProcess["env"]) {
    this.#ssh = ssh;
    this.#words = words;
    this.#env = env;
  }

  /** Arguments of ssh for a script there, whatever the shell of the account is. */
  command(script: string): readonly string[] {
    return [...OPTIONS, ...this.#words, `exec sh -c ${quoted(script)}`];
  }

  outcome(script: string) {
    return outcomeOf(this.#ssh, this.command(script), this.#env);
  }

  async run(script: string): Promise<string> {
    const outcome = await this.outcome(script);
    if (outcome.type === "ok") return outcome.stdout.trim();
    throw new Error(`the other machine could not be reached: ${outcome.type === "failed" ? outcome.said : "no ssh"}`);
  }

  /** Copies what has these names in a folder here into a folder there. */
  put(folder: string, names: readonly string[], far: string): Promise<void> {
    const from = [TAR, "-C", folder, "-cf", "-", ...names] as const;
    return copied(from, [this.#ssh, ...this.command(`${TAR} -C ${quoted(far)} -xf -`)], this.#env);
  }

  /** The other way; of the names those that are there. */
  get(far: string, names: readonly string[], folder: string): Promise<void> {
    const script = `cd ${quoted(far)} || exit 9; ${TAR} -cf - $(for n in ${quotedWords(names)}; do [ -e "$n" ] && echo "$n"; done)`;
    return copied([this.#ssh, ...this.command(script)], [TAR, "-C", folder, "-xf", "-"], this.#env);
  }
}

/** Paths below the storage, of the folders of an agent. */
function foldersOf({ notesRoot, historyDir }: Pick<RosterAgent, "notesRoot" | "historyDir">, storageRoot: string) {
  return [notesRoot, `${notesRoot}.meta`, historyDir].map((path) => path.slice(storageRoot.length + 1));
}

/** Makes a folder for a child there. */
async function farFolder(machine: Machine): Promise<string> {
  const script = 'umask 077; d=$(mktemp -d) && cd "$d" && mkdir work child package storage && pwd';
  const far = await machine.run(script);
  if (FAR_FOLDER.test(far)) return far;
  throw new Error(`the other machine answers with more than a path: ${shownValue(far)}`);
}

/** Places a child in its folder there. */
async function sendChild(machine: Machine, child: ChildProcess, far: string): Promise<void> {
  const { membership, folder, cwd, packageRoot, prompt } = child;
  const { storageRoot } = membership;
  const own = { root: `${far}/package`, api: `${far}/package/dist/api.js` };
  await writeChildEntry({ directory: join(folder, THERE) }, own, { ...membership, storageRoot: `${far}/storage` });
  writeNewText(join(folder, PROMPT_FILE), prompt);
  const registry = new Registry({ context: contextOf(membership) });
  // Content of a category does not leave this machine.
  const readable = registry.read().filter(({ category }) => category === null);
  const shared = [registry.layout.registry.slice(storageRoot.length + 1)];
  const names = [...shared, ...readable.flatMap((agent) => foldersOf(agent, storageRoot))];
  await machine.put(cwd, ["."], `${far}/work`);
  await machine.put(folder, ["."], `${far}/child`);
  await machine.put(packageRoot, ["package.json", "dist"], `${far}/package`);
  await machine.put(
    storageRoot,
    names.filter((name) => kindAt(join(storageRoot, name)) !== "missing"),
    `${far}/storage`,
  );
}

function contextOf({ version, runId, storageRoot, rootSessionId }: ChildProcess["membership"]) {
  return { version, runId, storageRoot, rootSessionId };
}

/** Fetches what a child has made there, enters it among the agents here, and removes it there. */
async function fetchChild(machine: Machine, { membership, cwd, folder }: ChildProcess, far: string): Promise<void> {
  const { agentName, storageRoot } = membership;
  const here = new Registry({ context: contextOf(membership) });
  const back = join(folder, BACK);
  removeTree(back);
  makePrivateDirectory(back);
  try {
    await machine.get(`${far}/work`, ["."], cwd);
    if (agentName === undefined) return;
    const places = { notesRoot: here.notesOf(agentName), historyDir: here.historyOf(agentName) };
    const folders = foldersOf(places, storageRoot);
    await machine.get(`${far}/storage`, [here.layout.registry.slice(storageRoot.length + 1), ...folders], back);
    const there = new Registry({ context: { ...here.context, storageRoot: back } });
    const agent = agentAt(there.read(), agentName);
    if (agent === undefined) return;
    makePrivateDirectory(here.layout.childNotes);
    makePrivateDirectory(join(here.layout.directory, "history"));
    for (const name of folders.filter((each) => kindAt(join(back, each)) === "directory"))
      NODE_DISK.renameSync(join(back, name), join(storageRoot, name));
    await here.update((roster) => [
      ...withRoot(roster, here, agent.created),
      { ...agent, ...places, state: { type: "ended" } },
    ]);
  } finally {
    await machine.outcome(`rm -rf ${quoted(far)}`);
  }
}

/** Another machine, by the words that ssh takes: `-p 2222 me@host`. */
export function sshSandbox(ssh: string, words: readonly string[]): Sandbox {
  const host = words.at(-1) ?? "";
  return {
    name: `ssh ${host}`,
    pi: ["pi"],
    async assertReady({ cwd, env, program, packageRoot }) {
      const refused = (problem: string, wayOut: string) => sandboxRefusal("ssh", problem, wayOut);
      if (host === "" || host.startsWith("-")) throw refused("no machine", 'Name it last, as ["ssh", "me@host"]');
      if (cwd !== null)
        throw refused("a directory of this machine is not there", "Leave cwd out and attach the files that it needs");
      if (kindAt(join(packageRoot, "dist", "api.js")) !== "file")
        throw refused("this is a checkout that is not built", "Run npm run build");
      const needed = [program, TAR].map(
        (word) => `command -v ${quoted(word)} >/dev/null || { echo "no ${basename(word)}" >&2; exit 1; }`,
      );
      const outcome = await new Machine(ssh, words, env).outcome(needed.join("; "));
      if (outcome.type === "missing") throw refused(`there is no program ${shownValue(ssh)}`, "Install an ssh client");
      if (outcome.type === "failed")
        throw refused(
          `${host} cannot run a task (${outcome.said})`,
          "Have it reached without a password (a key, its host known), with tar, and Pi on the PATH or its path in taskRunnerCommand",
        );
    },
    async enter(child) {
      const machine = new Machine(ssh, words, child.env);
      const far = await farFolder(machine);
      try {
        await sendChild(machine, child, far);
      } catch (error) {
        await machine.outcome(`rm -rf ${quoted(far)}`);
        throw error;
      }
      const farArgument = (arg: string) => {
        if (arg === join(child.folder, CHILD_ENTRY_FILE)) return `${far}/child/${THERE}/${CHILD_ENTRY_FILE}`;
        return arg.startsWith(join(child.folder, "/")) ? `${far}/child/${basename(arg)}` : arg;
      };
      const command = [child.program, ...child.args.map(farArgument)];
      return {
        program: ssh,
        args: machine.command(farScript(far, command)),
        holdsInput: true,
        leave: () => fetchChild(machine, child, far),
      };
    },
  };
}
