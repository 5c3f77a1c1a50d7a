// Which sandbox the setting `taskSandbox` names: the program that makes it, and more arguments for that.
import { basename } from "node:path";
import { shownValue, TokenBudgetError } from "../../errors.ts";
import { bwrapSandbox } from "./bwrap.ts";
import { containerSandbox } from "./container.ts";
import type { Sandbox } from "./sandbox.ts";
import { sshSandbox } from "./ssh.ts";

type Make = (program: string, more: readonly string[]) => Sandbox;

const KINDS: Readonly<Record<string, Make>> = {
  bwrap: bwrapSandbox,
  ssh: sshSandbox,
  docker: containerSandbox,
  podman: containerSandbox,
};

/** Null for none. Throws for one that is not known: it must not pass for none. */
export function sandboxOf(words: readonly string[]): Sandbox | null {
  const [program, ...more] = words;
  if (program === undefined) return null;
  const kind = basename(program);
  if (Object.hasOwn(KINDS, kind)) return (KINDS[kind] as Make)(program, more);
  throw new TokenBudgetError(
    "refused",
    `The setting taskSandbox is ${shownValue(words)}; its first word must be one of ${Object.keys(KINDS).join(", ")}, or a path that ends so. Nothing was stored. Mend it in settings.json, or leave it out to run tasks with the rights of Pi.`,
  );
}
