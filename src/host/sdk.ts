// The host's own SDK, for child sessions in this process: found and used the same way on every supported host.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { messageOf } from "../errors.ts";
import { HOST_PACKAGES, type HostPackage, runningHost } from "../packages/host.ts";

/** The parts of the SDK in use; fields that not every host has are optional. */
export interface HostSdk {
  readonly SessionManager: { inMemory(cwd: string): unknown };
  readonly SettingsManager: { create(cwd: string, agentDir: string): unknown };
  readonly DefaultResourceLoader: new (
    options: Readonly<Record<string, unknown>>,
  ) => { reload(): Promise<void>; getExtensions(): LoadedExtensions };
  createAgentSession(options: Readonly<Record<string, unknown>>): Promise<{ readonly session: SdkSession }>;
  /** 0.84 and later. */
  readonly ModelRuntime?: { create(options: { authPath: string; modelsPath: string }): Promise<SdkModels> };
}

interface Registration {
  readonly name: string;
  readonly config: unknown;
}

interface LoadedExtensions {
  readonly errors: readonly { readonly path: string; readonly error: string }[];
  readonly runtime?: { readonly pendingProviderRegistrations?: readonly Registration[] };
}

interface SdkModels {
  registerProvider(name: string, config: unknown): void;
  /** 0.84 and later. */
  getModel?(provider: string, id: string): unknown;
  /** 0.73.1, and what extensions see on every host. */
  find?(provider: string, id: string): unknown;
  /** 0.84 and later. */
  getRegisteredProviderIds?(): readonly string[];
  getRegisteredProviderConfig?(name: string): unknown;
}

interface SdkSession {
  readonly isStreaming: boolean;
  readonly isCompacting: boolean;
  readonly extensionRunner?: {
    hasHandlers(event: string): boolean;
    emit(event: { type: string; reason?: string }): Promise<unknown>;
  };
  prompt(text: string): Promise<void>;
  abort(): Promise<void>;
  dispose(): void;
  subscribe(listener: (event: { readonly type: string }) => void): () => void;
  bindExtensions(bindings: { onError(error: { event: string; error: string }): void }): Promise<void>;
}

function isSdk(module: unknown): module is HostSdk {
  return typeof module === "object" && module !== null && "createAgentSession" in module && "SessionManager" in module;
}

/** The SDK of a host that is known, else of the running command line, else the one that the loader or Node finds. */
export async function loadHostSdk(known?: HostPackage): Promise<HostSdk> {
  const problems: string[] = [];
  const running = known ?? runningHost();
  const names = [...(running ? [pathToFileURL(running.main).href] : []), ...HOST_PACKAGES];
  for (const name of names) {
    try {
      const module: unknown = await import(/* @vite-ignore */ name);
      if (isSdk(module)) return module;
    } catch (error) {
      problems.push(messageOf(error).split("\n", 1)[0] ?? "");
    }
  }
  throw new Error(`Pi's SDK was not found (${problems.join("; ")}). Give it as the option sdk.`);
}

export interface ChildSessionOptions {
  readonly sdk: HostSdk;
  readonly cwd: string;
  readonly agentDir: string;
  /** The models of the session that starts it, as an extension sees them; undefined for those of the agent directory. */
  readonly models: unknown;
  /** `provider/id`; null is the host's default. */
  readonly model: string | null;
  readonly factories: readonly unknown[];
  readonly paths: readonly string[];
  readonly onEvent: (event: { readonly type: string }) => void;
}

export interface ChildSession {
  /** Sends the prompt and waits until the session has settled. */
  prompt(text: string): Promise<void>;
  abort(): Promise<void>;
  /** Ends the session as quitting Pi does. */
  end(): Promise<void>;
}

function isModels(value: unknown): value is SdkModels {
  return typeof value === "object" && value !== null && "registerProvider" in value;
}

/** The models part of createAgentSession's options, and how to find a model in it. */
async function modelsFor({ sdk, agentDir, models }: ChildSessionOptions, registrations: readonly Registration[]) {
  const shared = isModels(models) ? models : undefined;
  if (!sdk.ModelRuntime) {
    for (const { name, config } of registrations) shared?.registerProvider(name, config);
    return {
      options: shared ? { modelRegistry: shared } : {},
      find: (provider: string, id: string) => shared?.find?.(provider, id),
    };
  }
  // Newer hosts do not expose their runtime; a new one with the same files and providers knows the same models.
  const runtime = await sdk.ModelRuntime.create({
    authPath: join(agentDir, "auth.json"),
    modelsPath: join(agentDir, "models.json"),
  });
  for (const name of shared?.getRegisteredProviderIds?.() ?? []) {
    const config = shared?.getRegisteredProviderConfig?.(name);
    if (config !== undefined) runtime.registerProvider(name, config);
  }
  for (const { name, config } of registrations) runtime.registerProvider(name, config);
  return {
    options: { modelRuntime: runtime },
    find: (provider: string, id: string) => runtime.getModel?.(provider, id),
  };
}

function modelNamed(name: string | null, find: (provider: string, id: string) => unknown): { model?: unknown } {
  if (name === null) return {};
  const slash = name.indexOf("/");
  const model = find(name.slice(0, slash), name.slice(slash + 1));
  if (model === undefined) throw new Error(`The model ${name} is not one of the host's models.`);
  return { model };
}

/** Opens a session in memory, with the given extensions only. */
export async function openChildSession(options: ChildSessionOptions): Promise<ChildSession> {
  const { sdk, cwd, agentDir, factories, paths, onEvent } = options;
  const settingsManager = sdk.SettingsManager.create(cwd, agentDir);
  const loader = new sdk.DefaultResourceLoader({
    cwd,
    agentDir,
    settingsManager,
    extensionFactories: factories,
    additionalExtensionPaths: paths,
    noExtensions: true,
    noSkills: true,
    noPromptTemplates: true,
    noThemes: true,
    noContextFiles: true,
  });
  await loader.reload();
  const loaded = loader.getExtensions();
  const [failed] = loaded.errors;
  if (failed) throw new Error(`An extension of the child did not load: ${failed.path}: ${failed.error}`);
  const models = await modelsFor(options, loaded.runtime?.pendingProviderRegistrations ?? []);
  const { session } = await sdk.createAgentSession({
    cwd,
    agentDir,
    resourceLoader: loader,
    settingsManager,
    sessionManager: sdk.SessionManager.inMemory(cwd),
    ...models.options,
    ...modelNamed(options.model, models.find),
  });
  const watch = new SettledWatch(session);
  session.subscribe((event) => {
    watch.see(event.type);
    onEvent(event);
  });
  try {
    await session.bindExtensions({
      onError: ({ event, error }) => onEvent({ type: `extension_error: ${event}: ${error}` }),
    });
  } catch (error) {
    session.dispose();
    throw error;
  }
  return {
    prompt: async (text) => {
      await session.prompt(text);
      await watch.settled();
    },
    abort: () => session.abort(),
    end: async () => {
      if (session.isStreaming) await session.abort();
      const { extensionRunner } = session;
      if (extensionRunner?.hasHandlers("session_shutdown"))
        await extensionRunner.emit({ type: "session_shutdown", reason: "quit" });
      session.dispose();
    },
  };
}

const CHECK_MS = 25;
/** 0.73.1 has no settled event; what extensions start there begins within this many quiet checks. */
const QUIET_CHECKS = 18;

/** On newer hosts a prompt resolves when its session has settled; on 0.73.1 this waits for silence. */
class SettledWatch {
  readonly #session: SdkSession;
  #hasEvent = false;
  #isRetrying = false;

  constructor(session: SdkSession) {
    this.#session = session;
  }

  see(type: string): void {
    if (type === "agent_settled") this.#hasEvent = true;
    if (type === "auto_retry_start") this.#isRetrying = true;
    if (type === "auto_retry_end") this.#isRetrying = false;
  }

  async settled(): Promise<void> {
    for (let quiet = 0; !this.#hasEvent && quiet < QUIET_CHECKS; ) {
      await new Promise((resolve) => setTimeout(resolve, CHECK_MS));
      const isBusy = this.#session.isStreaming || this.#session.isCompacting || this.#isRetrying;
      quiet = isBusy ? 0 : quiet + 1;
    }
  }
}
