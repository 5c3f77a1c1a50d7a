// Pi's own functions fit our options without a cast, by the types of this host.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { run } from "../../fixtures/pi/cli.ts";
import { scratchFolder } from "../../fixtures/pi/environment.ts";
import { currentHostName, hostNamed, PACKAGE_DIR } from "../../fixtures/pi/hosts.ts";

const PROGRAM = `import { isContextOverflow } from "the-host/pi-ai";
import { createTokenBudgetExtension } from "our-api";
createTokenBudgetExtension({ isContextOverflow });
// @ts-expect-error what judges nothing is no judge
createTokenBudgetExtension({ isContextOverflow: () => "yes" });
`;

it("isContextOverflow of pi-ai is the option of that name", async () => {
  const { root } = hostNamed(currentHostName());
  const folder = scratchFolder();
  writeFileSync(join(folder, "program.mts"), PROGRAM);
  const paths = {
    "the-host/pi-ai": [join(root, "pi-ai/dist/index.d.ts")],
    "our-api": [join(PACKAGE_DIR, "api.ts")],
  };
  const compilerOptions = { paths, typeRoots: [join(PACKAGE_DIR, "node_modules/@types")], incremental: false };
  const config = { extends: join(PACKAGE_DIR, "tsconfig.json"), compilerOptions, include: [], files: ["program.mts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const tsc = join(PACKAGE_DIR, "node_modules/typescript/bin/tsc");
  const { code, stdout } = await run(process.execPath, [tsc, "-p", folder], { cwd: folder });
  expect(stdout).toBe("");
  expect(code).toBe(0);
});
