// The commands a person types: what each is called, takes and does. Registration, usage, completion and docs/commands.md are
// all made from this one table; what a command starts is decided elsewhere.
import { shownValue } from "../errors.ts";
import type { CommandCompletion, HostCommand, HostContext } from "../host/api.ts";
import { similarNames } from "../similar.ts";
import { safeText } from "./text.ts";

/** One way to call a command. */
export interface CommandForm {
  /** As it is typed after the name, `[name]` where it varies; empty for none. */
  readonly argument: string;
  readonly does: string;
  /** It removes something: offered only when its last word was begun, so that Tab and Enter alone never reach it. */
  readonly takesAway?: true;
}

export interface CommandSpec {
  /** One line, for the list of commands. */
  readonly description: string;
  readonly forms: readonly CommandForm[];
}

type Deed = string | { readonly does: string; readonly takesAway: true };

function takesAway(does: string): Deed {
  return { does, takesAway: true };
}

/** `forms` says what each argument does. */
function command(description: string, forms: Readonly<Record<string, Deed>>): CommandSpec {
  const rows = Object.entries(forms).map(([argument, deed]) =>
    typeof deed === "string" ? { argument, does: deed } : { argument, ...deed },
  );
  return { description, forms: rows };
}

export const COMMANDS = {
  context: command("Context window and budget; `new` opens the next window", {
    "": "shows the window, its budget, the thresholds and where each comes from",
    new: "saves a checkpoint and opens the next window, in a session of any size",
    "new [instructions]": "says in the request what the checkpoint has to keep",
    "new --without-note": takesAway(
      "opens it without asking the model, where the provider refuses every request of this window",
    ),
  }),
  notes: command("The notes of this agent and of those it may read", {
    "": "lists the notes",
    "<path>": "shows a note, or lists the notes whose paths begin like this",
    "<agent>: <path>": "shows or lists the notes of another agent; the beginning of its name is enough",
  }),
  windows: command("The windows of this session", {
    "": "lists the newest windows with their counts and first request",
    "<window>": "lists the windows from this one on",
  }),
  todos: command("The whole todo list; `clear` empties it", {
    "": "shows the whole todo list",
    clear: takesAway("empties it"),
  }),
  category: command("The category of this session's content; a label or `none` changes it", {
    "": "shows the category of this session",
    "<label>": "gives it to this session and to every child of it",
    none: takesAway("makes this session and every child of it ordinary: any model may be used"),
  }),
  task: command("Gives a task to a child agent", {
    "<goal>": "starts it; its record says what became of it, and which files",
    "--attach <path> <goal>": "attaches a file, in front of the goal; repeat it for more",
    "--cwd <directory> <goal>": "works there, such as in `.`, and not in a fresh directory",
    "--model <provider/id> <goal>": "uses that model; without it the session's own",
    "--runner <name> <goal>": "`session` (in this process, the default) or `cli` (a Pi process of its own)",
    "--category <label> <goal>": "declares what its content is, in front of the goal; without it the task is ordinary",
  }),
  tasks: command("The tasks that were given to child agents", {
    "": "lists the newest tasks",
    "<id>": "shows one: its steps, todo list, files, usage and result; the beginning of an id is enough",
    "<id> save [file] [to]":
      "copies its files here or to a place, with their folders; asks before it replaces one. `*` is all finished ones",
    "<id> open [file]": "shows a file with a text",
    "stop <id>": "stops it and keeps what it has written",
    "rerun <id>": "runs it once more",
    "remove <id>": "removes it with its files; asks first",
  }),
  "token-budget": command("Switches windows on or off in this session; `doctor` looks for problems", {
    "": "says whether windows are on in this session",
    on: "keeps windows again in this session",
    off: takesAway("returns compaction to Pi in this session; notes and history stay"),
    doctor: "looks for problems and says how to fix each",
    forget: takesAway(
      "removes what this session leaves when it ends: when you quit, or with /new, /resume or /fork; asks first",
    ),
    keep: "takes that back, until the session ends",
    "forget <session>": "removes what an ended session has left in the same folder; asks first",
  }),
} satisfies Readonly<Record<string, CommandSpec>>;

export type CommandName = keyof typeof COMMANDS;

/** Below this likeness (0 to 1) a wrong word is no typo of one of ours. */
const MISSPELT_LIKENESS = 0.4;

/** Whether an argument of a form is typed literally. */
function isLiteral({ argument }: CommandForm): boolean {
  return argument !== "" && !/[<[]/.test(argument);
}

/** Whether a word is offered for a beginning. */
function isOffered({ argument, takesAway }: CommandForm, prefix: string): boolean {
  return argument.startsWith(prefix) && (!takesAway || prefix.length > argument.lastIndexOf(" ") + 1);
}

export function typedAs(name: string, { argument }: CommandForm): string {
  return argument === "" ? `/${name}` : `/${name} ${argument}`;
}

/** How a command is used, one form a line. */
export function usageOf(name: CommandName): string {
  return ["Usage:", ...COMMANDS[name].forms.map((form) => `  ${typedAs(name, form)}: ${form.does}`)].join("\n");
}

/** The usage, below what was typed instead when something was. */
function unknownText(name: CommandName, argument: string, words: readonly string[]): string {
  if (argument === "") return usageOf(name);
  const [meant] = similarNames(argument, words, 1, MISSPELT_LIKENESS);
  const question = meant === undefined ? "." : `; did you mean /${name} ${meant}?`;
  return `/${name} does not know ${safeText(shownValue(argument))}${question}\n${usageOf(name)}`;
}

/** A possible argument; `about` is shown behind it. */
export interface Choice {
  readonly value: string;
  readonly about?: string | undefined;
}

/** Completions offered at once. */
export const CHOICES_MAX = 20;

export interface CommandParts {
  /** The answer to an argument; undefined for one that the command does not know. */
  readonly answer: (argument: string, ctx: HostContext) => string | undefined | Promise<string | undefined>;
  readonly show: (ctx: HostContext, text: string) => void;
  /** Other possible arguments that begin like this. */
  readonly complete?: (prefix: string) => readonly Choice[] | Promise<readonly Choice[]>;
}

/** The completions of a beginning; a word typed in full gets none, since Enter would choose it instead of running the command. */
async function completions(
  literals: readonly CommandForm[],
  complete: CommandParts["complete"],
  prefix: string,
): Promise<CommandCompletion[] | null> {
  const more = (await complete?.(prefix)) ?? [];
  const all: readonly Choice[] = [
    ...literals.filter((form) => isOffered(form, prefix)).map(({ argument }) => ({ value: argument })),
    ...more,
  ];
  if (all.some(({ value }) => value === prefix)) return null;
  const found = all.slice(0, CHOICES_MAX);
  if (found.length === 0) return null;
  return found.map(({ value, about }) => ({ value, label: value, ...(about ? { description: about } : {}) }));
}

export function defineCommand(name: CommandName, { answer, show, complete }: CommandParts): HostCommand {
  const { description, forms } = COMMANDS[name];
  const literals = forms.filter(isLiteral);
  const names = literals.map(({ argument }) => argument);
  return {
    description,
    // A failed completion offers nothing: the host would show its error over what is being typed.
    getArgumentCompletions: (prefix) => completions(literals, complete, prefix).catch(() => null),
    handler: async (args, ctx) => show(ctx, (await answer(args.trim(), ctx)) ?? unknownText(name, args.trim(), names)),
  };
}
