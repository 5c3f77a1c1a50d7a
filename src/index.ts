// What Pi loads from a checkout: the extension with everything found in its environment.
import { createTokenBudgetExtension } from "./extension.ts";

export default createTokenBudgetExtension();
