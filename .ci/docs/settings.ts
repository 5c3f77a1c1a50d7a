// docs/settings.md and the README's table of settings, made from the schema in src/settings-schema.ts.

import { DEFAULT_SETTINGS, Settings, TriggerSettings } from "../../src/settings.ts";
import { table } from "./table.ts";

interface Field {
  readonly type?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly description?: string;
}

function values({ type, minimum, maximum }: Field): string {
  if (type === "boolean") return "true, false";
  if (type === "array") return "list of texts";
  if (type === "object") return "true, false by tool name";
  if (type === undefined) return "object or null";
  const range = maximum === undefined ? `from ${minimum}` : `${minimum} to ${maximum}`;
  return type === "integer" ? `whole number ${range}` : `number ${range}`;
}

const NAMES = Object.keys(Settings.properties) as (keyof Settings)[];

export function settingsTable(): string {
  const rows = NAMES.map((name) => {
    const field: Field = Settings.properties[name];
    const perModel = name in TriggerSettings.properties ? "yes" : "";
    const value = DEFAULT_SETTINGS[name];
    const standard = typeof value === "number" ? value.toLocaleString("en-US") : JSON.stringify(value);
    return [`\`${name}\``, standard, values(field), perModel, field.description ?? ""];
  });
  return table([["setting", "default", "values", "by model", ""], ...rows]);
}

const VARIABLES = [
  ["variable", ""],
  ["`PI_TOKEN_BUDGET_DISABLED=1`", "the package does nothing at all; also `true`, `yes` and `on`"],
  ["`PI_TOKEN_BUDGET_REMINDER_PERCENT`", "as `reminderRemainingPercent`"],
  ["`PI_TOKEN_BUDGET_HARD_ROLLOVER_TOKENS`", "as `hardRolloverUsedTokens`"],
  ["`PI_TOKEN_BUDGET_SUBAGENTS_MODULE`", "where pi-subagents is; see [launcher-api.md](launcher-api.md#pi-subagents)"],
  ["`PI_TOKEN_BUDGET_ACP_SOCKET`", "set by `pi-token-budget-acp`: where the todo list is pushed ([acp.md](acp.md))"],
  [
    "`PI_TOKEN_BUDGET_TASK_RUN`",
    "set by the package for the processes of a task, to find and end them ([dispatch.md](dispatch.md))",
  ],
  ["`PI_TOKEN_BUDGET_QUIET_TICK_MS`", "for this package's own tests: quiet times on Pi 0.73.1 become shorter"],
];

export function settingsPage(): string {
  return `# Settings

Made from the schema in \`src/settings-schema.ts\`. All of them are optional. They stand under \`tokenBudget\` in Pi's settings.json: the one of the agent directory first, then \`.pi/settings.json\` of the project, which wins for each setting that it names. A value for a model wins over one for all models, wherever the two stand.

${settingsTable()}

Flat, in \`defaults\`, or both; with values for some models:

\`\`\`json
{
  "tokenBudget": {
    "defaults": { "reminderRemainingPercent": 0.2 },
    "models": {
      "some-provider/some-model": { "hardRolloverUsedTokens": 150000 },
      "some-provider": { "reminderRemainingFloorTokens": 30000 },
      "*": { "reminderRemainingCeilingTokens": 50000 }
    }
  }
}
\`\`\`

A model is named \`provider/model\`, \`provider/*\`, \`provider\` or \`*\`; the most exact name wins, and case does not matter. Only the settings marked "by model" may stand there. In one file, what stands in \`defaults\` wins over the same setting flat beside it, and a line says so.

What is unknown or has a wrong value is named in one warning when the session starts, a line for each, and its default is used; settings never stop Pi. Only for a wrong \`taskSandbox\` there is no default: it refuses [tasks](sandbox.md). Settings are read when a session starts, and a file is read as Pi reads it: comments are no JSON, and a byte order mark is dropped on 0.84 and later, while 0.73.1 reads nothing of such a file.

## Only in the agent directory

A project cannot raise \`notesMaxFileBytes\`. \`taskQuota\`, \`taskRunnerCommand\`, \`taskSandbox\`, \`taskTool\` and \`categories\` only count in the settings.json of the agent directory: a cloned repository must not decide what is run, what is spent and where content goes. \`categories\` is no setting with a default; it stands beside the others, or beside \`defaults\` and \`models\`, and labels models ([categories](categories.md)):

\`\`\`json
{ "tokenBudget": { "categories": { "client-x": { "models": ["some-provider/some-model"] } } } }
\`\`\`

## Leaving tools out

\`\`\`json
{ "tokenBudget": { "tools": { "todo_write": false } } }
\`\`\`

A tool that is left out is not registered, so another package may have its name: newer versions of Pi do not start with two tools of one name. Windows go on without it, but not without both \`notes_write_file\` and \`notes_append_to_file\`: then Pi compacts by itself. The setting is read when the package is loaded, from the agent directory and from \`.pi/settings.json\` of the folder in which Pi was started, before Pi says whether that project is trusted. What one of the two leaves out the other cannot bring back. Start Pi again after a change.

## When the reminder and the checkpoint come

With \`left\` tokens of a window of \`size\` tokens left:

- reminder: \`left\` is at most \`reminderRemainingPercent\` × \`size\`, but not more than the ceiling, nor less than the floor, nor more than half the window;
- checkpoint: \`left\` is at most Pi's \`compaction.reserveTokens\` (16,384 unless set) and a margin of 4,096 or 2 % of the window, whichever is more; at most a quarter of the window, and always after the reminder;
- checkpoint also when \`hardRolloverUsedTokens\` are used; again only after use fell below 90 % of it.

\`/context\` shows the values of the current session.

## Environment

These win over every settings file.

${table(VARIABLES)}

The agent directory is \`PI_CODING_AGENT_DIR\`, else \`PI_AGENT_DIR\`, else \`~/.pi/agent\`.
`;
}
