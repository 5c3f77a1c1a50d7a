// What a person is told where a sandbox does not work. Pure.
import { TokenBudgetError } from "../../errors.ts";

export function sandboxRefusal(program: string, problem: string, wayOut: string): TokenBudgetError {
  return new TokenBudgetError(
    "refused",
    `The setting taskSandbox says ${program}, and ${problem}. Nothing was stored, and nothing was sent to a model. ${wayOut}, or leave taskSandbox out of settings.json to run tasks with the rights of Pi.`,
  );
}
