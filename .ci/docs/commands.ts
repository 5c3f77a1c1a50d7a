// docs/commands.md and the README's table of commands, made from the table in src/ui/commands.ts.
import { COMMANDS, type CommandForm, typedAs } from "../../src/ui/commands.ts";
import { table } from "./table.ts";

const NAMES = Object.keys(COMMANDS) as (keyof typeof COMMANDS)[];

function rowsOf(name: keyof typeof COMMANDS): string[][] {
  const forms: readonly CommandForm[] = COMMANDS[name].forms;
  return forms.map((form) => [`\`${typedAs(name, form)}\``, form.does]);
}

const COMPACT = [
  "`/compact [instructions]`",
  "Pi's own command: saves a checkpoint and opens a window; the instructions go to the model with the request for its note",
];

export function commandsTable(): string {
  return table([["command", ""], ...NAMES.flatMap(rowsOf), COMPACT]);
}

export function commandsPage(): string {
  const sections = NAMES.map(
    (name) => `## /${name}\n\n${COMMANDS[name].description}.\n\n${table([["typed", "what it does"], ...rowsOf(name)])}`,
  );
  return `# Commands

Made from the table in \`src/ui/commands.ts\`. Arguments are completed with Tab; what a command does not know it names, and says what there is: its usage, or the windows, notes, tasks or labels. Without a terminal interface (\`pi -p "/context"\`, RPC) they print: to standard error in print mode, as a notice over RPC. Every answer is bounded and says what it leaves out.

${sections.join("\n\n")}

## /compact

${COMPACT[1]}.

## What \`off\` means

\`/token-budget off\` is written on the session's log, so it holds when the session is resumed, and a fork or a way back in the tree shows what was true there. From then on nothing is injected, no tool call is refused and no compaction is answered; what was asked of the model in this window is taken back. Windows that are over stay over. \`on\` wins over \`"enabled": false\` in the settings, for this session. A child agent has a switch of its own.
`;
}
