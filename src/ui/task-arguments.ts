// What is typed behind /task: options, then the goal as it was typed. A slip in an option is refused: the child that would
// run on it costs money. Pure.
import { similarNames } from "../similar.ts";

export interface ParsedTask {
  readonly goal: string;
  readonly category: string | null;
  readonly attachments: readonly string[];
  /** The directory to work in; null for a fresh one. */
  readonly cwd: string | null;
  /** `provider/id`; null for the session's own. */
  readonly model: string | null;
  /** Null for the usual one. */
  readonly runner: string | null;
}

/** A task, or what is wrong with the line. */
export type TaskLine = ({ readonly type: "task" } & ParsedTask) | { readonly type: "slip"; readonly problem: string };

/** What an option is followed by. */
const VALUES = {
  "--attach": "the path of a file",
  "--category": "a label",
  "--cwd": "the path of a directory",
  "--model": "a model, provider/id",
  "--runner": "the name of a runner, session or cli",
} as const;
type TaskOption = keyof typeof VALUES;

export const TASK_OPTIONS = Object.keys(VALUES) as readonly TaskOption[];

const ANY = TASK_OPTIONS.map((option) => option.slice(2)).join("|");
/** Its name, and its value in quotes or without. */
const OPTION = new RegExp(`^(--(?:${ANY}))(?:=|\\s+)(?:"([^"]+)"|'([^']+)'|(?!--|["'])(\\S+))(?:\\s+|$)`);
/** Behind it everything is the goal. */
const END = /^--(?:\s+|$)/;
const LATE = new RegExp(`(?:^|\\s)(--(?:${ANY}))(?=[=\\s]|$)`);

/** Below this likeness (0 to 1) an unknown option is none of ours with a slip of the finger. */
const MISSPELT_LIKENESS = 0.4;

function slip(problem: string): TaskLine {
  return { type: "slip", problem };
}

function isOption(word: string): word is TaskOption {
  return TASK_OPTIONS.some((option) => option === word);
}

/** What is wrong with a word in front of the goal that looks like an option. */
function optionProblem(rest: string): string {
  const [word = ""] = /^--[^\s=]*/.exec(rest) ?? [];
  if (isOption(word)) return `${word} needs ${VALUES[word]} behind it, in quotes if it has spaces.`;
  const [meant] = similarNames(word, TASK_OPTIONS, 1, MISSPELT_LIKENESS);
  return `There is no option ${word}${meant === undefined ? "." : `; did you mean ${meant}?`}`;
}

export function parseTaskLine(line: string): TaskLine {
  const attachments: string[] = [];
  const given = new Map<TaskOption, string>();
  let rest = line.trimStart();
  for (let option = OPTION.exec(rest); option !== null; option = OPTION.exec(rest)) {
    const name = option[1] as TaskOption;
    const value = option[2] ?? option[3] ?? option[4] ?? "";
    if (name === "--attach") attachments.push(value);
    else if (given.has(name)) return slip(`${name} is given twice. Nothing was started.`);
    else given.set(name, value);
    rest = rest.slice(option[0].length);
  }
  const task = (goal: string): TaskLine => ({
    type: "task",
    goal,
    attachments,
    category: given.get("--category") ?? null,
    cwd: given.get("--cwd") ?? null,
    model: given.get("--model") ?? null,
    runner: given.get("--runner") ?? null,
  });
  if (END.test(rest)) return task(rest.replace(END, ""));
  if (rest.startsWith("--")) return slip(`${optionProblem(rest)} Nothing was started.`);
  const [, late] = LATE.exec(rest) ?? [];
  if (late !== undefined)
    return slip(`${late} comes after the goal, and options come before the goal. Nothing was started.`);
  return task(rest);
}
