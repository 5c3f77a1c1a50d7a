// What is typed behind /tasks: nothing, the beginning of an id, or what is to be done with a task. Pure.

/** What can be done with a task, and how many words may follow its id. */
const ACTIONS = { save: 2, open: 1, stop: 0, rerun: 0, remove: 0 } as const;
export type TaskAction = keyof typeof ACTIONS;

export const TASK_ACTIONS = Object.keys(ACTIONS) as readonly TaskAction[];

export type TasksLine =
  | { readonly type: "list" }
  | { readonly type: "show"; readonly id: string }
  | { readonly type: "act"; readonly action: TaskAction; readonly id: string; readonly words: readonly string[] }
  /** Nothing that can be typed here. */
  | { readonly type: "unknown" };

const WORD = /"([^"]*)"|'([^']*)'|(\S+)/g;

/** The words of a line; one with spaces stands in quotes. */
export function wordsOf(line: string): readonly string[] {
  return Array.from(line.matchAll(WORD), ([, double, single, bare]) => double ?? single ?? bare ?? "");
}

/** As it is typed, in quotes where it must be. */
export function typedWord(word: string): string {
  if (word !== "" && !/[\s"']/.test(word)) return word;
  return word.includes('"') ? `'${word}'` : `"${word}"`;
}

function isAction(word: string | undefined): word is TaskAction {
  return word !== undefined && Object.hasOwn(ACTIONS, word);
}

/** The action may stand before the id or behind it. */
export function parseTasksLine(line: string): TasksLine {
  const [first, second, ...rest] = wordsOf(line);
  if (first === undefined) return { type: "list" };
  const [action, id] = isAction(first) ? [first, second] : [second, first];
  if (action === undefined) return { type: "show", id: first };
  if (!isAction(action) || id === undefined || rest.length > ACTIONS[action]) return { type: "unknown" };
  return { type: "act", action, id, words: rest };
}
