// The headings of a dispatched task's prompt: by them its goal is found again in the child's history. Pure.

/** The transcript, when there is one, comes first; every line of it is quoted. */
export const EARLIER_HEADING = "# Earlier turns (quoted for reference, newest last)";
export const TASK_HEADING = "# Task";

/** The goal and what follows it, in a prompt of a dispatched task; undefined for any other text. */
export function goalIn(prompt: string): string | undefined {
  const begins = [EARLIER_HEADING, TASK_HEADING].some((heading) => prompt.startsWith(`${heading}\n\n`));
  if (!begins) return undefined;
  const at = `\n${prompt}`.indexOf(`\n${TASK_HEADING}\n\n`);
  return at < 0 ? undefined : prompt.slice(at + TASK_HEADING.length + 2);
}
