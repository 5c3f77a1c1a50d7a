// What is typed behind /task: options, then the goal as it was typed. A slip in an option is refused: the child that would
// run on it costs money. Pure.
import { similarNames } from "../similar.ts";

export interface ParsedTask {
  readonly goal: string;
  readonly category: string | null;
  readonly attachments: readonly string[];
}

/** A task, or what is wrong with the line. */
export type TaskLine = ({ readonly type: "task" } & ParsedTask) | { readonly type: "slip"; readonly problem: string };

export const TASK_OPTIONS = ["--attach", "--category"] as const;
type TaskOption = (typeof TASK_OPTIONS)[number];

/** What an option is followed by. */
const VALUES: Readonly<Record<TaskOption, string>> = { "--attach": "the path of a file", "--category": "a label" };

/** Its name, and its value in quotes or without. */
const OPTION = /^(--(?:attach|category))(?:=|\s+)(?:"([^"]+)"|'([^']+)'|(?!--|["'])(\S+))(?:\s+|$)/;
/** Behind it everything is the goal. */
const END = /^--(?:\s+|$)/;
const LATE = /(?:^|\s)(--(?:attach|category))(?=[=\s]|$)/;

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
  let category: string | null = null;
  let rest = line.trimStart();
  for (let option = OPTION.exec(rest); option !== null; option = OPTION.exec(rest)) {
    const value = option[2] ?? option[3] ?? option[4] ?? "";
    if (option[1] === "--attach") attachments.push(value);
    else category = value;
    rest = rest.slice(option[0].length);
  }
  if (END.test(rest)) return { type: "task", goal: rest.replace(END, ""), category, attachments };
  if (rest.startsWith("--")) return slip(`${optionProblem(rest)} Nothing was started.`);
  const [, late] = LATE.exec(rest) ?? [];
  if (late !== undefined)
    return slip(`${late} stands behind the goal, and options come before the goal. Nothing was started.`);
  return { type: "task", goal: rest, category, attachments };
}
