// The launcher API: what other programs use. Re-exports only.
export { type ErrorCode, TokenBudgetError } from "./src/errors.ts";
export { createTokenBudgetExtension, type TokenBudgetExtension, type TokenBudgetOptions } from "./src/extension.ts";
export { TOOL_NAMES, type ToolName } from "./src/tools/specs.ts";
