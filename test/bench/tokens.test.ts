// What the model pays, in tokens of a real tokenizer: bounds, not times.
import { describe, expect, it } from "vitest";
import {
  emptyBootstrap,
  fullBootstrap,
  TOKEN_GOALS,
  taskToolDefinition,
  tokenCosts,
  tokensIn,
} from "../../bench/tokens.ts";
import { REQUEST_INDEX_MAX } from "../../src/window/bootstrap.ts";

describe("what the model pays", () => {
  const costs = tokenCosts();

  it("for all tools and the guidance stays within its bound", () => {
    expect(costs.tools_and_guidance).toBe(costs.tools + costs.guidance);
    expect(costs.tools_and_guidance).toBeLessThanOrEqual(TOKEN_GOALS.tools_and_guidance);
  });

  it("for the tool that gives out tasks, where a person turns it on, stays within its bound", () => {
    expect(costs.task_tool).toBe(tokensIn(taskToolDefinition()));
    expect(costs.task_tool).toBeLessThanOrEqual(TOKEN_GOALS.task_tool);
  });

  it("for a window that starts with every list full stays within its bound", () => {
    const bootstrap = fullBootstrap();
    expect(bootstrap.match(/— w1 \(answered\) —/g)).toHaveLength(REQUEST_INDEX_MAX - 1);
    expect(bootstrap).toContain("more: notes_list_files_by_prefix");
    expect(bootstrap).toContain("Files changed last");
    expect(bootstrap).toContain("168 more open");
    expect(costs.full_bootstrap).toBe(tokensIn(bootstrap));
    expect(costs.full_bootstrap).toBeLessThanOrEqual(TOKEN_GOALS.full_bootstrap);
  });

  it("for a window with nothing to list stays within its bound", () => {
    expect(emptyBootstrap()).toContain("No note files exist.");
    expect(costs.empty_bootstrap).toBeLessThanOrEqual(TOKEN_GOALS.empty_bootstrap);
  });
});
