// `/category`: what a session's content is, and a person's decision about it.
import type { CategoryGuard } from "../category/guard.ts";
import { ORDINARY } from "../category/labels.ts";
import { messageOf } from "../errors.ts";
import type { HostCommand, HostContext } from "../host/api.ts";
import { type Category, parseCategory } from "../task/category.ts";
import { defineCommand, usageOf } from "./commands.ts";

/** What the command needs of the guard. */
export type CategoryCommandGuard = Pick<CategoryGuard, "describe" | "labels" | "decide" | "place" | "standing">;

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
  return defineCommand("category", {
    show,
    complete: (prefix) =>
      guard
        .labels()
        .filter((label) => label.startsWith(prefix))
        .map((value) => ({ value })),
    answer: async (argument, ctx) => {
      if (argument === "") return [...guard.describe(ctx), usageOf("category")].join("\n");
      try {
        return await change(guard, ctx, argument);
      } catch (error) {
        return `The category was not changed: ${messageOf(error)}\n${usageOf("category")}`;
      }
    },
  });
}
