// The settings as one TypeBox schema: names, ranges, defaults and the words of docs/settings.md. Pure data.
import { type Static, Type } from "./schema.ts";
import { TOOL_NAMES, type ToolName } from "./tools/specs.ts";

/** Which tools are registered; one that is not named is. */
export type ToolSwitches = { readonly [N in ToolName]?: boolean };

const tokens = (description: string, value: number) => Type.Integer({ minimum: 0, default: value, description });

/** The trigger fields may differ by model. */
export const TriggerFields = {
  reminderRemainingPercent: Type.Number({
    minimum: 0,
    maximum: 1,
    default: 0.25,
    description: "Share of the window that is left when the reminder comes.",
  }),
  reminderRemainingFloorTokens: tokens(
    "The reminder comes at the latest with this many tokens left, or with half of a small window.",
    21_384,
  ),
  reminderRemainingCeilingTokens: tokens("The reminder never comes with more tokens left than this.", 60_000),
  hardRolloverUsedTokens: tokens(
    "Used tokens at which a checkpoint is enforced; 0 is off. Where this comes before the reminder, no reminder comes.",
    0,
  ),
};

export const TriggerSettings = Type.Object(TriggerFields);
export type TriggerSettings = Static<typeof TriggerSettings>;

export const Settings = Type.Object({
  enabled: Type.Boolean({ default: true, description: "Whether windows are kept at all in this session." }),
  ...TriggerFields,
  fenceMaxRequests: Type.Integer({
    minimum: 1,
    maximum: 100,
    default: 5,
    description:
      "Requests in a row in which a model may leave a checkpoint unsaved; then the next window opens without a note.",
  }),
  maxToolOutputChars: Type.Integer({
    minimum: 1,
    default: 12_000,
    description: "Longest text output of a tool, in characters (code points).",
  }),
  notesMaxFileBytes: Type.Integer({
    minimum: 1,
    default: 1_000_000,
    description: "Largest note file, in UTF-8 bytes. A project may lower it, only the agent directory may raise it.",
  }),
  forkCopiesNotes: Type.Boolean({
    default: true,
    description: "Whether a forked session starts with a copy of the notes of the agent it was forked from.",
  }),
  tools: Type.Unsafe<ToolSwitches>(
    Type.Object(Object.fromEntries(TOOL_NAMES.map((name) => [name, Type.Optional(Type.Boolean())])), {
      additionalProperties: false,
      default: {},
      description:
        'Tools to leave out, as `{ "todo_write": false }`. Read when Pi loads the package; either file may leave a tool out.',
    }),
  ),
  historyItemPreviewChars: Type.Integer({
    minimum: 1,
    default: 400,
    description: "Length of an item's preview in lists and searches, in characters.",
  }),
  maxConcurrentTasks: Type.Integer({
    minimum: 1,
    maximum: 64,
    default: 4,
    description: "Dispatched tasks that run at once; further ones wait.",
  }),
  taskHistoryChars: Type.Integer({
    minimum: 0,
    default: 80_000,
    description: "Characters of earlier turns that a dispatched task is told.",
  }),
  taskHistoryTurnChars: Type.Integer({
    minimum: 1,
    default: 6_000,
    description: "Characters of one of those turns.",
  }),
  taskExtractChars: Type.Integer({
    minimum: 1,
    default: 30_000,
    description: "Characters of the text that is put beside an attachment.",
  }),
  taskQuota: Type.Union(
    [
      Type.Null(),
      Type.Object(
        {
          tokens: Type.Optional(Type.Integer({ minimum: 1 })),
          amount: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
        },
        { additionalProperties: false },
      ),
    ],
    {
      default: null,
      description:
        "What dispatched tasks may use in a day (UTC): `{ tokens }`, `{ amount }` or both; null is no limit. Agent directory only.",
    },
  ),
  taskTool: Type.Boolean({
    default: false,
    description:
      "Whether the model gets the tool `dispatch_task`, with which it gives tasks to child agents. Its definition costs about 300 tokens in every request, and its tasks cost what they use. Read when Pi loads the package; agent directory only.",
  }),
  taskRunnerCommand: Type.Array(Type.String({ minLength: 1 }), {
    default: [],
    description:
      "Program and first arguments of the `cli` runner; empty is the Pi that runs the session. Agent directory only.",
  }),
  taskSandbox: Type.Array(Type.String({ minLength: 1 }), {
    default: [],
    description:
      'What confines tasks (docs/sandbox.md), as `["bwrap"]`: `bwrap`, `ssh`, `docker` or `podman`, and more arguments for it; empty is nothing. Agent directory only.',
  }),
});
export type Settings = Static<typeof Settings>;

export type SettingName = keyof Settings;

export const DEFAULT_SETTINGS: Settings = Object.fromEntries(
  Object.entries(Settings.properties).map(([name, schema]) => [name, schema.default]),
) as Settings;
