// Who a child of pi-subagents is: the name of its agent, which is in its system prompt and nowhere else that a child
// can see. Pure.

/** As pi-subagents writes it at the head of what it adds to a child's system prompt. */
const ACTIVE_AGENT = /<active_agent name="([^"<>]+)"\/>/;
const NAME_MAX_CODE_POINTS = 100;

const ESCAPED: Readonly<Record<string, string>> = { "&quot;": '"', "&lt;": "<", "&gt;": ">", "&amp;": "&" };

/** The agent's name as its definition has it; undefined in a session that is no child of pi-subagents. */
export function subagentIn(systemPrompt: string): string | undefined {
  const [, escaped] = ACTIVE_AGENT.exec(systemPrompt) ?? [];
  if (escaped === undefined) return undefined;
  const name = escaped.replace(/&(quot|lt|gt|amp);/g, (entity) => ESCAPED[entity] ?? entity).trim();
  return Array.from(name.toWellFormed()).slice(0, NAME_MAX_CODE_POINTS).join("") || undefined;
}
