// An editor as the tests need one: the official SDK as the client, over the standard streams of our command, whose bridge
// is the real pi-acp with a real Pi. Every line that the command wrote is kept as it came.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { PassThrough, Readable, Writable } from "node:stream";
import {
  type ClientContext,
  client,
  methods,
  type NewSessionRequest,
  type NewSessionResponse,
  ndJsonStream,
  type PromptRequest,
  type PromptResponse,
  type SessionNotification,
} from "@agentclientprotocol/sdk";
import { Ajv2020 } from "ajv/dist/2020.js";
import { buildSync } from "esbuild";
import { type ScriptedReplies, writeModel, writePiScript } from "../../fixtures/pi/cli.ts";
import { makeEnvironment, type PrivateEnvironment, scratchFolder } from "../../fixtures/pi/environment.ts";
import { type HostName, hostNamed, PACKAGE_DIR } from "../../fixtures/pi/hosts.ts";
import { installedDirectory } from "../../fixtures/pi/installed.ts";

export const PI_ACP = join(PACKAGE_DIR, "node_modules/pi-acp/dist/index.js");

let built: string | undefined;

/** The command as one file for plain Node, made from the sources once for each test file, whose scratch folder goes. */
function commandFile(): string {
  if (built && existsSync(built)) return built;
  const outfile = join(scratchFolder(), "pi-token-budget-acp.mjs");
  const entry = join(PACKAGE_DIR, "src/acp/main.ts");
  buildSync({ entryPoints: [entry], outfile, bundle: true, platform: "node", format: "esm", target: "node20.6" });
  built = outfile;
  return outfile;
}

export interface Running {
  readonly child: ChildProcess;
  readonly stderr: () => string;
  readonly exit: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}

interface StartOptions {
  /** Over the variables of this process. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** Starts the command with these arguments; its standard streams are the caller's. */
export function startCommand(args: readonly string[], options: StartOptions = {}): Running {
  return startProgram(process.execPath, [commandFile(), ...args], options);
}

function startProgram(command: string, args: readonly string[], { cwd, env }: StartOptions): Running {
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    stderr += chunk;
  });
  child.stdin.on("error", () => undefined);
  const exit = new Promise<Awaited<Running["exit"]>>((resolve) => {
    child.once("close", (code, signal) => resolve({ code, signal }));
  });
  return { child, stderr: () => stderr, exit };
}

export type PlanEntries = readonly { content: string; priority: string; status: string }[];

export interface Editor {
  readonly context: ClientContext;
  readonly project: string;
  /** Where the command makes its socket. */
  readonly temporary: string;
  readonly running: Running;
  /** What came from the command, whole lines. */
  lines(): readonly string[];
  /** The plans that came for a session, oldest first. */
  plans(sessionId: string): readonly PlanEntries[];
  /** Resolves when that many plans have come for it. */
  planned(sessionId: string, count: number): Promise<readonly PlanEntries[]>;
  newSession(): Promise<string>;
  loadSession(sessionId: string): Promise<void>;
  prompt(sessionId: string, text: string): Promise<string>;
  /** Closes the command's standard input, as an editor that quits. */
  quit(): Promise<Awaited<Running["exit"]>>;
}

export interface EditorOptions {
  readonly model: ScriptedReplies;
  readonly environment?: PrivateEnvironment;
  readonly host?: HostName;
  /** What the real Pi loads beside the model. */
  readonly extensions?: readonly string[];
  /** How the editor starts its agent; default: our command with pi-acp behind it, and a PATH with nothing of ours. */
  readonly agent?: AgentServer;
}

/** An entry of `agent_servers` in an editor's settings. */
export interface AgentServer {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A script that runs the real Pi with the scripted model, as `pi` for the bridge. */
export function piScript(
  environment: PrivateEnvironment,
  { model, host, extensions = [installedDirectory()] }: EditorOptions,
): string {
  const { node, cli } = hostNamed(host ?? "1.6.0");
  const written = writeModel(model, environment.directory);
  const loaded = [written.extension, ...extensions].flatMap((path) => ["-e", path]);
  const script = join(environment.directory, "pi.sh");
  writePiScript(script, [node, cli, ...loaded, "--model", "scripted/m"], written.env);
  return script;
}

const WAIT_LIMIT_MS = 60_000;
const CHECK_MS = 20;

export async function until(what: string, isSo: () => boolean, limitMs = WAIT_LIMIT_MS): Promise<void> {
  const end = Date.now() + limitMs;
  while (!isSo()) {
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, CHECK_MS));
  }
}

/** Opens the editor; the caller quits it and removes the environment. */
export async function openEditor(
  options: EditorOptions,
): Promise<Editor & { readonly environment: PrivateEnvironment }> {
  const environment = options.environment ?? makeEnvironment();
  const project = join(environment.directory, "project");
  mkdirSync(project, { recursive: true });
  const temporary = join(environment.directory, "tmp");
  mkdirSync(temporary, { recursive: true });
  const env = { ...environment.variables, TMPDIR: temporary };
  const { agent } = options;
  const running = agent
    ? startProgram(agent.command, agent.args, { cwd: project, env: { ...env, ...agent.env } })
    : startCommand(["--", process.execPath, PI_ACP], {
        cwd: project,
        // Without any other Pi.
        env: { ...env, PATH: "/usr/bin:/bin", PI_ACP_PI_COMMAND: piScript(environment, options) },
      });
  const { stdin, stdout } = running.child;
  if (!stdin || !stdout) throw new Error("the command has no streams");
  let received = "";
  const copy = new PassThrough();
  stdout.on("data", (chunk: Buffer) => {
    received += chunk.toString("latin1");
    copy.write(chunk);
  });
  stdout.once("end", () => copy.end());
  const lines = () => Buffer.from(received, "latin1").toString("utf8").split("\n").slice(0, -1);
  const updates: SessionNotification[] = [];
  const app = client({ name: "test-editor" }).onNotification(methods.client.session.update, ({ params }) => {
    updates.push(params);
  });
  const stream = ndJsonStream(Writable.toWeb(stdin), Readable.toWeb(copy) as ReadableStream<Uint8Array>);
  const context = app.connect(stream).agent;
  try {
    await context.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  } catch (error) {
    throw new Error(`no agent came up; standard error: ${running.stderr()}`, { cause: error });
  }
  const plans = (sessionId: string) =>
    updates.flatMap((params) =>
      params.sessionId === sessionId && params.update.sessionUpdate === "plan" ? [params.update.entries] : [],
    );
  return {
    context,
    project,
    temporary,
    running,
    environment,
    lines,
    plans,
    planned: async (sessionId, count) => {
      await until(`plan ${count} of ${sessionId}; stderr: ${running.stderr()}`, () => plans(sessionId).length >= count);
      return plans(sessionId);
    },
    newSession: async () => {
      const request: NewSessionRequest = { cwd: project, mcpServers: [] };
      const response: NewSessionResponse = await context.request(methods.agent.session.new, request);
      return response.sessionId;
    },
    loadSession: async (sessionId) => {
      await context.request(methods.agent.session.load, { sessionId, cwd: project, mcpServers: [] });
    },
    prompt: async (sessionId, text) => {
      const request: PromptRequest = { sessionId, prompt: [{ type: "text", text }] };
      const response: PromptResponse = await context.request(methods.agent.session.prompt, request);
      return response.stopReason;
    },
    quit: () => {
      stdin.end();
      return running.exit;
    },
  };
}

/** Checks `session/update` notifications against the SDK's own schema: its parser would drop bad entries in silence. */
export function updateValidator(): (line: string) => readonly string[] {
  const path = createRequire(import.meta.url).resolve("@agentclientprotocol/sdk/schema/v1/schema.json");
  const schema = JSON.parse(readFileSync(path, "utf8")) as { $defs: Record<string, unknown> };
  const ajv = new Ajv2020({ strict: false, allErrors: true, logger: false });
  const validate = ajv.compile({ $ref: "#/$defs/SessionNotification", $defs: schema.$defs });
  return (line) => {
    const { jsonrpc, method, params, ...rest } = JSON.parse(line) as Record<string, unknown>;
    const frame = jsonrpc === "2.0" && method === "session/update" && Object.keys(rest).length === 0;
    validate(params);
    return [
      ...(frame ? [] : ["not a session/update notification"]),
      ...(validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`),
    ];
  };
}

/** The processes with this home: the command, the bridge, Pi. */
export function processesAtHome(home: string): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(`HOME=${home}`);
    } catch {
      return false;
    }
  });
}
