// `pi -p "/task …"` with the real command line of each host: the result on standard output and nothing else there, and the
// record is found again by -c.

import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { type RunResult, runPi } from "../../fixtures/pi/cli.ts";
import { makeEnvironment } from "../../fixtures/pi/environment.ts";

const environments: ReturnType<typeof makeEnvironment>[] = [];
afterEach(() => {
  for (const environment of environments.splice(0)) environment.remove();
});

const LONG = 150_000;
const MODEL = {
  source: `(request) => request.systemPrompt.startsWith("You carry out one task")
    ? JSON.stringify(request.messages).includes("Fail") ? { content: [], stopReason: "error", errorMessage: "no way" } : "The ratio output/input is 3. " + "é".repeat(${LONG})
    : "hello"`,
};

/** Each in the same directory of one person. */
function person(): (options: { prompt: string; args?: string[]; mode?: "json" }) => Promise<RunResult> {
  const environment = makeEnvironment();
  environments.push(environment);
  const cwd = join(environment.directory, "project");
  return (options) => runPi({ model: MODEL, environment, cwd, ...options });
}

it("prints the result, and its record is found again", async () => {
  const pi = person();
  const first = await pi({ prompt: "/task Compute the ratio" });
  expect(first.code).toBe(0);
  expect(first.stdout).toBe(`The ratio output/input is 3. ${"é".repeat(LONG)}\n`);
  const id = /Task (\w+) is completed: Compute the ratio\./.exec(first.stderr)?.[1] ?? "no id";
  const again = await pi({ prompt: `/tasks ${id.slice(0, 6)}`, args: ["-c"] });
  expect(again.stderr).toContain(`Compute the ratio (${id})`);
  expect(again.stdout).toBe("");
  // The session goes on as any other.
  const spoken = await pi({ prompt: "hello there", args: ["-c"] });
  expect(spoken.stdout).toBe("hello\n");
  expect((await pi({ prompt: "/tasks", args: ["-c"] })).stderr).toContain(id.slice(0, 8));
});

it("prints nothing for a task that failed, and nothing but events in json mode", async () => {
  const pi = person();
  const failed = await pi({ prompt: "/task Fail" });
  expect(failed.stdout).toBe("");
  expect(failed.stderr).toContain("failed (no way)");
  const json = await pi({ prompt: "/task Compute the ratio", mode: "json" });
  for (const line of json.stdout.trimEnd().split("\n")) expect(() => JSON.parse(line)).not.toThrow();
  expect(json.stdout).not.toContain("The ratio");
});
