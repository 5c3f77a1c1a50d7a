// The list of allowed tools on the page of the launcher API, given to Pi's command line as it stands there.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runPi } from "../../fixtures/pi/cli.ts";
import { PACKAGE_DIR } from "../../fixtures/pi/hosts.ts";

it("the documented --tools lets every tool on it through, and the session has its guidance", async () => {
  const page = readFileSync(join(PACKAGE_DIR, "docs/launcher-api.md"), "utf8");
  const [, allowed = ""] = /^pi --tools (\S+) …$/m.exec(page) ?? [];
  const ran = await runPi({ model: ["done"], prompt: "go", args: ["--tools", allowed] });
  expect(ran, ran.stderr).toMatchObject({ code: 0, stderr: "", stdout: "done\n" });
  expect((ran.requests[0]?.tools ?? []).map(({ name }) => name).sort()).toEqual(allowed.split(",").sort());
  expect(ran.requests[0]?.systemPrompt).toContain("<pi_token_budget_guidance>");
  ran.environment.remove();
});
