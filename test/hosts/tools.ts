// Small tools for scenarios.

import type { ExtensionFactory } from "@mariozechner/pi-coding-agent";
import { type TSchema, Type } from "@sinclair/typebox";

/** `slow { ms }`: waits, then answers. Runs in parallel with others. */
export const slowTool: ExtensionFactory = (pi) => {
  pi.registerTool({
    name: "slow",
    label: "slow",
    description: "Waits.",
    parameters: Type.Object({ ms: Type.Number() }) as TSchema,
    async execute(_id: string, params: unknown) {
      const { ms } = params as { ms: number };
      await new Promise((resolve) => setTimeout(resolve, ms));
      return { content: [{ type: "text", text: `waited ${ms}` }], details: {} };
    },
  } as never);
};
