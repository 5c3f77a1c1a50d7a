// What Pi loads from a checkout: the extension with everything found in its environment, and what makes one.
import { createTokenBudgetExtension } from "./extension.ts";

export { overflowJudge } from "./host/overflow-judge.ts";
export { createTokenBudgetExtension };

export default createTokenBudgetExtension();
