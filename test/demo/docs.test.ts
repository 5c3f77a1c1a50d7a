// Documents that are made from the code are committed as the code makes them.
import { describe, expect, it } from "vitest";
import { committed, documents } from "../../.ci/docs/generate.ts";
import { explore } from "../../.ci/docs/states.ts";
import { Settings } from "../../src/settings.ts";
import { TOOL_NAMES } from "../../src/tools/specs.ts";
import { COMMANDS } from "../../src/ui/commands.ts";
import { PHASES } from "../../src/window/phase.ts";

const HOW = "run: node --import tsx .ci/docs/generate.ts";

describe("the documents made from the code", () => {
  for (const [path, text] of documents()) it(`${path} is up to date`, () => expect(committed(path), HOW).toBe(text));

  it("name every tool and every setting, in the README too", () => {
    for (const path of ["README.md", "docs/tools.md"])
      for (const name of TOOL_NAMES) expect(committed(path)).toContain(name);
    for (const path of ["README.md", "docs/settings.md"])
      for (const name of Object.keys(Settings.properties)) expect(committed(path)).toContain(`\`${name}\``);
  });

  it("name every export, every error code and every tool on the page of the launcher API", () => {
    const page = committed("docs/launcher-api.md");
    const exported = [...committed("api.ts").matchAll(/export (?:type )?\{([^}]*)\}/g)]
      .flatMap(([, names = ""]) => names.split(","))
      .map((name) => name.replace(/^\s*type\s/, "").trim());
    expect(exported).toContain("getTokenBudgetTask");
    const codes = [...committed("src/errors.ts").matchAll(/^ {2}\| "(\w+)"/gm)].map(([, code = ""]) => code);
    expect(codes).toContain("name_collision");
    for (const name of [...exported, ...codes]) expect(page).toContain(`\`${name}`);
    expect(page).toContain(
      `tools: read, bash, ${["notes", "history"].flatMap((group) => TOOL_NAMES.filter((name) => name.startsWith(group))).join(", ")}`,
    );
    for (const name of TOOL_NAMES) expect(page).toContain(name);
  });

  it("name every command, in the README too", () => {
    for (const path of ["README.md", "docs/commands.md"])
      for (const name of Object.keys(COMMANDS)) expect(committed(path)).toContain(`/${name}`);
  });

  it("draw every phase of the machine but the one that is no state of it", () => {
    const { transitions } = explore();
    const drawn = [...transitions].filter(([, events]) => events.size > 0).map(([phase]) => phase);
    expect(drawn).toEqual(PHASES.filter((phase) => phase !== "disabled"));
  });
});
