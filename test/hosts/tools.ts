// Small tools for scenarios.

import { setTimeout as sleep } from "node:timers/promises";
import type { ExtensionFactory } from "@mariozechner/pi-coding-agent";
import { type TSchema, Type } from "@sinclair/typebox";

/** How long `slow` takes where an abort is to end it. */
export const UNTIL_ABORTED_MS = 120_000;

/** `slow { ms }`: waits, then answers. Runs in parallel with others. */
export const slowTool: ExtensionFactory = (pi) => {
  pi.registerTool({
    name: "slow",
    label: "slow",
    description: "Waits.",
    parameters: Type.Object({ ms: Type.Number() }) as TSchema,
    async execute(_id: string, params: unknown, signal: AbortSignal | undefined) {
      const { ms } = params as { ms: number };
      await sleep(ms, undefined, signal ? { signal } : {}).catch(() => undefined);
      return { content: [{ type: "text", text: `waited ${ms}` }], details: {} };
    },
  } as never);
};
