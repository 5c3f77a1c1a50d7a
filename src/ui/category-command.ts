// `/category`: what a session's content is, and a person's decision about it.
import { type CategoryGuard, shownToPerson } from "../category/guard.ts";
import { ORDINARY } from "../category/labels.ts";
import { messageOf, shownValue } from "../errors.ts";
import type { HostCommand, HostContext } from "../host/api.ts";
import { type Category, LABEL_RULE, labelOf } from "../task/category.ts";
import { defineCommand, usageOf } from "./commands.ts";

/** What the command needs of the guard. */
export type CategoryCommandGuard = Pick<
  CategoryGuard,
  "describe" | "labels" | "decide" | "chooseModel" | "classification"
>;

const IN_RUN =
  "The category is not changed during a run: what is being sent was allowed under the old one. Wait for its end, or stop it.";

/** With a label that no model has, nothing of this session could be sent any more. */
function unknownLabel(label: string, known: readonly string[]): string {
  const there =
    known.length === 0
      ? "The settings have none: tokenBudget.categories of the agent directory's settings.json gives models their labels"
      : `There are ${known.join(", ")}, and ${ORDINARY} for ordinary content`;
  return `There is no category ${label}, so nothing was changed. ${there}.`;
}

async function change(guard: CategoryCommandGuard, ctx: HostContext, argument: string): Promise<string> {
  const category: Category | undefined = argument.toLowerCase() === ORDINARY ? null : labelOf(argument);
  if (category === undefined)
    return `${shownValue(argument)} is no label, so nothing was changed: ${LABEL_RULE}; ${ORDINARY} means ordinary content.\n${usageOf("category")}`;
  const known = guard.labels();
  if (category !== null && !known.includes(category)) return unknownLabel(category, known);
  if (!ctx.isIdle()) return IN_RUN;
  await guard.decide(ctx, category);
  const choice = await guard.chooseModel(ctx);
  const lines = guard.describe(ctx);
  return [...lines, ...(choice.type === "refused" ? [shownToPerson(choice.error)] : [])].join("\n");
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
