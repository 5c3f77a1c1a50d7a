// A real settings.json with a byte order mark, with comments, with both: what counts here is what the host itself reads from
// the same file, in the same process.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runPi } from "../../fixtures/pi/cli.ts";
import { makeEnvironment, type PrivateEnvironment } from "../../fixtures/pi/environment.ts";
import { currentHostName, PACKAGE_DIR } from "../../fixtures/pi/hosts.ts";

const BYTE_ORDER_MARK = "\uFEFF";
const PLAIN =
  '{ "compaction": { "reserveTokens": 12345 }, "tokenBudget": { "reminderRemainingFloorTokens": 23456 } }\n';
const COMMENTED = PLAIN.replace("{ ", "{ // mine\n  /* and\n mine */ ");
const DEFAULT_RESERVE = 16_384;

let environment: PrivateEnvironment;
beforeAll(() => {
  environment = makeEnvironment();
});
afterAll(() => environment.remove());

/** Asks the host's own reader, from inside the process, and says what it answers. */
function probe(): string {
  const file = join(environment.directory, "probe.ts");
  writeFileSync(
    file,
    `import { SettingsManager } from "@mariozechner/pi-coding-agent";
export default (pi) => pi.on("session_start", (_event, ctx) => {
  const { reserveTokens } = SettingsManager.create(ctx.cwd, process.env.PI_CODING_AGENT_DIR).getCompactionSettings();
  console.error("the host reads " + reserveTokens);
});
`,
  );
  return file;
}

/** The newest Pis take a byte order mark away; comments none of them knows. */
const READS_MARK = currentHostName() !== "0.73.1";

it.each<[string, string, boolean]>([
  ["nothing special", PLAIN, true],
  ["a byte order mark", BYTE_ORDER_MARK + PLAIN, READS_MARK],
  ["comments", COMMENTED, false],
  ["a byte order mark and comments", BYTE_ORDER_MARK + COMMENTED, false],
])("settings.json with %s counts here as it does in the host", async (_name, text, isRead) => {
  mkdirSync(environment.agentDir, { recursive: true });
  writeFileSync(join(environment.agentDir, "settings.json"), text);
  const ran = await runPi({ environment, model: ["hello"], prompt: "/context", extensions: [PACKAGE_DIR, probe()] });
  expect(ran.code, ran.stderr).toBe(0);
  const hostReads = Number(/the host reads (\d+)/.exec(ran.stderr)?.[1]);
  expect(hostReads).toBe(isRead ? 12_345 : DEFAULT_RESERVE);
  const shown = `${ran.stdout}\n${ran.stderr}`;
  expect(shown).toContain(`compaction.reserveTokens ${hostReads.toLocaleString("en")}: `);
  if (isRead) expect(shown).toContain("reminderRemainingFloorTokens 23,456: agent settings");
  else {
    expect(shown).toContain("reminderRemainingFloorTokens 21,384: default");
    expect(shown).toMatch(/pi-token-budget settings: .*settings\.json: (is not JSON|begins with a byte order mark)/);
  }
});
