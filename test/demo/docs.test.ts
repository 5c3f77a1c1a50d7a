// Documents that are made from the code are committed as the code makes them.
import { existsSync, readdirSync } from "node:fs";
import { posix } from "node:path";
import { describe, expect, it } from "vitest";
import { committed, documents } from "../../.ci/docs/generate.ts";
import { explore } from "../../.ci/docs/states.ts";
import { Settings } from "../../src/settings.ts";
import { TOOL_NAMES } from "../../src/tools/specs.ts";
import { COMMANDS } from "../../src/ui/commands.ts";
import { PHASES } from "../../src/window/phase.ts";

const ROOT = new URL("../../", import.meta.url);

/** A document without its blocks of code. */
function prose(path: string): string {
  return committed(path).replace(/^```[\s\S]*?^```/gm, "");
}

/** Links to other files of the repository, as paths from its root. */
function linksOf(path: string): readonly { readonly path: string; readonly anchor: string | undefined }[] {
  const text = prose(path).replace(/`[^`\n]*`/g, "");
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
  return targets
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [file = "", anchor] = target.split("#", 2);
      return { path: file === "" ? path : posix.join(posix.dirname(path), file), anchor };
    });
}

/** The anchors of a document's headings, as GitHub makes them. */
function anchorsOf(path: string): readonly string[] {
  const headings = [...prose(path).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => heading);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
}

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
    const [, allowed = ""] = /^pi --tools (\S+) …$/m.exec(page) ?? [];
    const listed = allowed.split(",");
    expect(listed.slice(0, 2)).toEqual(["read", "bash"]);
    expect(listed.slice(2).sort()).toEqual([...TOOL_NAMES].sort());
  });

  it("name every environment variable that the code reads", () => {
    const sources = readdirSync(new URL("src/", ROOT), { recursive: true, encoding: "utf8" });
    const text = sources
      .filter((name) => name.endsWith(".ts"))
      .map((name) => committed(`src/${name}`))
      .join("");
    const names = new Set(text.match(/\bPI_TOKEN_BUDGET_[A-Z_]+/g));
    expect(names).toContain("PI_TOKEN_BUDGET_DISABLED");
    for (const name of names) expect(committed("docs/settings.md")).toContain(name);
  });

  it("lead to pages and headings that are there, and the README to every page", () => {
    const pages = readdirSync(new URL("docs/", ROOT)).filter((name) => name.endsWith(".md"));
    const files = ["README.md", ...pages.map((name) => `docs/${name}`)];
    const linked = new Set<string>();
    for (const file of files) {
      for (const { path, anchor } of linksOf(file)) {
        expect(existsSync(new URL(path, ROOT)), `${file} → ${path}`).toBe(true);
        if (anchor) expect(anchorsOf(path), `${file} → ${path}#${anchor}`).toContain(anchor);
        if (file === "README.md") linked.add(path);
      }
    }
    for (const page of files.slice(1)) expect([...linked], `a link in README.md to ${page}`).toContain(page);
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
