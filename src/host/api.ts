// The part of Pi's extension interface that this package uses, as a structural type that fits every supported host.
// Public interface only; fields that not every host has are optional, and only this folder looks at them.
import type { ImageBlock, LogEntry, LogMessage, TextBlock } from "./entries.ts";
import type { WidgetFactory } from "./ui.ts";

export interface HostModel {
  readonly provider: string;
  readonly id: string;
  /** How it is spoken to. */
  readonly api?: string;
  /** Tokens. */
  readonly contextWindow: number;
  readonly input: readonly string[];
}

export interface HostUsage {
  /** Null when the host does not know, as right after a compaction. */
  readonly tokens: number | null;
  readonly contextWindow: number;
}

export interface HostSessionManager {
  getSessionId(): string;
  getSessionFile(): string | undefined;
  getLeafId(): string | null;
  getEntry(id: string): LogEntry | undefined;
  /** All of the tree, in the order of the file. */
  getEntries?(): readonly object[];
  getLabel(id: string): string | undefined;
  getHeader(): { readonly timestamp?: string; readonly parentSession?: string } | null;
  /** 1.x: builds the messages of a request from the log again, at a cost that grows with the session. */
  readonly buildSessionProjection?: unknown;
}

export interface HostContext {
  readonly cwd: string;
  readonly hasUI: boolean;
  /** 0.84 and later: tui, rpc, json or print. */
  readonly mode?: string;
  readonly model: HostModel | undefined;
  readonly modelRegistry: {
    /** The models with credentials. */
    getAvailable(): readonly HostModel[];
    /** All models the host knows. */
    getAll(): readonly HostModel[];
  };
  readonly sessionManager: HostSessionManager;
  readonly ui: {
    notify(message: string, type?: "info" | "warning" | "error"): void;
    select(title: string, options: string[]): Promise<string | undefined>;
    setWidget(key: string, content: WidgetFactory | undefined): void;
    setStatus(key: string, text: string | undefined): void;
    readonly theme: { fg(color: "dim", text: string): string };
    /** Gets what is typed before the host does. */
    onTerminalInput?(handler: (data: string) => { readonly consume: boolean } | undefined): () => void;
    getEditorText?(): string;
    setEditorText?(text: string): void;
  };
  /** Of the current run. */
  readonly signal: AbortSignal | undefined;
  isIdle(): boolean;
  hasPendingMessages(): boolean;
  abort(): void;
  compact(options: { readonly onComplete: () => void; readonly onError: (error: Error) => void }): void;
  getContextUsage(): HostUsage | undefined;
  getSystemPrompt(): string;
  /** 1.x: false in a project whose settings the person has not trusted. */
  isProjectTrusted?(): boolean;
}

export interface SessionStartEvent {
  readonly reason: string;
  /** The session that was open before, as with a fork. */
  readonly previousSessionFile?: string;
}

export interface ToolCallEvent {
  readonly toolName: string;
  readonly toolCallId: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** 1.x: the call of another tool that makes this one. */
  readonly parentToolCallId?: string;
}

export interface ToolResultEvent {
  readonly toolName: string;
  readonly toolCallId: string;
  readonly content: unknown;
  readonly details: unknown;
  readonly isError: boolean;
}

export interface ModelSelectEvent {
  readonly model: HostModel;
  readonly previousModel: HostModel | undefined;
}

export interface CompactionPreparation {
  readonly tokensBefore: number;
}

export interface RawCompactionEvent {
  readonly preparation: CompactionPreparation;
  readonly branchEntries: readonly LogEntry[];
  readonly customInstructions?: string;
  readonly signal: AbortSignal;
  readonly reason?: "manual" | "threshold" | "overflow";
  readonly willRetry?: boolean;
}

export interface CompactionAnswer {
  readonly cancel?: boolean;
  readonly compaction?: {
    readonly summary: string;
    readonly firstKeptEntryId: string;
    readonly tokensBefore: number;
    readonly details: unknown;
  };
}

/** Events by name: what the handler gets and what it may answer. */
export interface HostEvents {
  session_start: { event: SessionStartEvent; answer: undefined };
  session_shutdown: { event: { readonly reason?: string }; answer: undefined };
  session_tree: { event: object; answer: undefined };
  before_agent_start: {
    event: { readonly systemPrompt: string };
    /** The message is sent with the prompt, and is on the log. */
    answer: { readonly systemPrompt?: string; readonly message?: HostMessage };
  };
  context: { event: { readonly messages: readonly LogMessage[] }; answer: { messages: readonly LogMessage[] } };
  input: { event: object; answer: { readonly action: "handled" } };
  model_select: { event: ModelSelectEvent; answer: undefined };
  tool_call: { event: ToolCallEvent; answer: { block: true; reason: string } };
  tool_result: { event: ToolResultEvent; answer: undefined };
  agent_start: { event: object; answer: undefined };
  turn_start: { event: object; answer: undefined };
  turn_end: { event: object; answer: undefined };
  agent_end: { event: { readonly messages: readonly LogMessage[] }; answer: undefined };
  /** 0.84 and later. */
  agent_settled: { event: { readonly aborted?: boolean }; answer: undefined };
  /** `before` (the default) keeps what precedes the entry, `at` keeps the entry too. */
  session_before_fork: {
    event: { readonly entryId: string; readonly position?: "before" | "at" };
    answer: { readonly cancel: true };
  };
  /** Another session is about to be shown: a new one, or one that is resumed. */
  session_before_switch: { event: { readonly reason: string }; answer: { readonly cancel: true } };
  session_before_tree: {
    event: { readonly preparation: { readonly userWantsSummary?: boolean } };
    answer: { readonly cancel: true };
  };
  /** 1.x: the host is about to repeat the newest request, to keep the provider's cache warm. */
  cache_warming_decision: { event: object; answer: { readonly action: "stop" } };
  session_before_compact: { event: RawCompactionEvent; answer: CompactionAnswer };
  session_compact: { event: { readonly compactionEntry: LogEntry; readonly reason?: string }; answer: undefined };
  /** 0.84 and later. */
  session_compact_failed: {
    event: { readonly reason?: string; readonly errorMessage?: string; readonly aborted?: boolean };
    answer: undefined;
  };
}

export type HostEventName = keyof HostEvents;

type Answer<N extends HostEventName> = HostEvents[N]["answer"] | undefined;

export type HostHandler<N extends HostEventName> = (
  event: HostEvents[N]["event"],
  ctx: HostContext,
  // biome-ignore lint/suspicious/noConfusingVoidType: most handlers answer nothing.
) => Answer<N> | void | Promise<Answer<N> | void>;

export interface HostToolResult {
  readonly content: readonly (TextBlock | { type: "image"; data: string; mimeType: string })[];
  readonly details: Record<string, unknown>;
  /** Ends the run when every result of the batch says so. */
  readonly terminate?: boolean;
}

export interface HostMessage {
  readonly customType: string;
  readonly content: string;
  readonly display: boolean;
  readonly details: unknown;
}

export interface CommandCompletion {
  readonly value: string;
  readonly label: string;
  readonly description?: string;
}

export interface HostCommand {
  readonly description: string;
  readonly handler: (args: string, ctx: HostContext) => Promise<void>;
  /** Completions of an argument that begins like this; the chosen one replaces the whole argument. */
  readonly getArgumentCompletions?: (prefix: string) => Promise<CommandCompletion[] | null>;
}

/** A registered tool, and where its extension came from. */
export interface HostToolInfo {
  readonly name: string;
  readonly description?: string;
  /** Its JSON schema. */
  readonly parameters?: unknown;
  readonly sourceInfo?: { readonly path?: string };
}

export interface HostApi {
  on<N extends HostEventName>(name: N, handler: HostHandler<N>): unknown;
  registerTool(tool: {
    readonly name: string;
    readonly execute: (
      toolCallId: string,
      params: unknown,
      signal: AbortSignal | undefined,
      onUpdate: unknown,
      ctx: HostContext,
    ) => Promise<HostToolResult>;
  }): void;
  registerCommand(name: string, command: HostCommand): void;
  sendMessage(
    message: HostMessage,
    options?: { readonly triggerTurn?: boolean; readonly deliverAs?: "steer" | "followUp" | "nextTurn" },
  ): void;
  /** Starts a run, or waits for the end of the current one. */
  sendUserMessage(content: readonly (TextBlock | ImageBlock)[], options: { readonly deliverAs: "followUp" }): void;
  appendEntry(customType: string, data: unknown): void;
  /** Sets an entry's label in the host's tree. */
  setLabel(entryId: string, label: string | undefined): void;
  getActiveTools(): string[];
  getAllTools(): readonly HostToolInfo[];
  /** For this session; 0.73.1 keeps it as the default of new ones too. False without credentials. */
  setModel(model: HostModel): Promise<boolean>;
  readonly events: {
    emit(channel: string, data: unknown): void;
    on(channel: string, handler: (data: unknown) => void): () => void;
  };
}
