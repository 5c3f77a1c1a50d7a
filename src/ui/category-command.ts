// `/category`: what a session's content is, and a person's decision about it.
import type { CategoryGuard } from "../category/guard.ts";
import { ORDINARY } from "../category/labels.ts";
import { messageOf } from "../errors.ts";
import type { HostCommand, HostContext } from "../host/api.ts";
import { type Category, parseCategory } from "../task/category.ts";

/** What the command needs of the guard. */
export type CategoryCommandGuard = Pick<CategoryGuard, "describe" | "labels" | "decide" | "place" | "standing">;

const USAGE =
  "usage: /category shows what this session's content is; /category <label> or /category none changes it, for this session and everything below it.";
const IN_RUN =
  "The category is not changed during a run: what is being sent was allowed under the old one. Wait for its end, or stop it.";

function labelOf(argument: string): Category {
  return argument.toLowerCase() === ORDINARY ? null : parseCategory(argument);
}

async function change(guard: CategoryCommandGuard, ctx: HostContext, argument: string): Promise<string> {
  const category = labelOf(argument);
  if (!ctx.isIdle()) return IN_RUN;
  await guard.decide(ctx, category);
  const placing = await guard.place(ctx);
  const lines = guard.describe(ctx);
  return [...lines, ...(placing.type === "refused" ? [placing.error.message] : [])].join("\n");
}

export function categoryCommand(
  guard: CategoryCommandGuard,
  show: (ctx: HostContext, text: string) => void,
): HostCommand {
  return {
    description: "What this session's content is; a label or `none` changes it",
    getArgumentCompletions: (prefix) => {
      const fitting = [...guard.labels(), ORDINARY].filter((label) => label.startsWith(prefix));
      return fitting.length === 0 ? null : fitting.map((label) => ({ value: label, label }));
    },
    handler: async (args, ctx) => {
      const argument = args.trim();
      if (argument === "") return show(ctx, [...guard.describe(ctx), USAGE].join("\n"));
      try {
        show(ctx, await change(guard, ctx, argument));
      } catch (error) {
        show(ctx, `The category was not changed: ${messageOf(error)}\n${USAGE}`);
      }
    },
  };
}
