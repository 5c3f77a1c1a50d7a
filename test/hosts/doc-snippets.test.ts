// The code in the documents, as a reader copies it into a project that has the packed package and this Pi: all of it
// compiles under --strict, beside the TypeScript of docs/examples; whole programs and extensions do what their page says.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunOptions, type RunResult, run, runPi, writeModel, writePiScript } from "../../fixtures/pi/cli.ts";
import { makeEnvironment } from "../../fixtures/pi/environment.ts";
import { currentHostName, hostNamed, PACKAGE_DIR } from "../../fixtures/pi/hosts.ts";
import { packedProject } from "../../fixtures/pi/packed.ts";
import { call, type Request, textOf } from "../../fixtures/pi/scripted-model.ts";

const MINUTES = 60_000;
const host = hostNamed(currentHostName());
const environment = makeEnvironment();
const PAGES = ["README.md", ...readdirSync(join(PACKAGE_DIR, "docs")).map((name) => `docs/${name}`)].filter((path) =>
  path.endsWith(".md"),
);
const EXAMPLES = join(PACKAGE_DIR, "docs/examples");
/** Pi's own functions fit our options without a cast. */
const OPTIONS = `import { isContextOverflow } from "${host.scope}/pi-ai";
import { createTokenBudgetExtension } from "pi-token-budget/api";
createTokenBudgetExtension({ isContextOverflow });
// @ts-expect-error what judges nothing is no judge
createTokenBudgetExtension({ isContextOverflow: () => "yes" });
`;
const NO_CODE = ["sh", "json", "mermaid", ""];

interface Snippet {
  readonly page: string;
  readonly language: string;
  readonly text: string;
  /** Its file in the project. */
  readonly file: string;
  /** A program acts when it is run, an extension when Pi calls it; parts wait for a program around them. */
  readonly kind: "program" | "extension" | "parts";
}

/** With the scope that this Pi's packages have. */
function inThisPi(source: string): string {
  return source.replaceAll("@mariozechner/", `${host.scope}/`);
}

function kindOf(text: string): Snippet["kind"] {
  const { statements } = ts.createSourceFile("snippet.ts", text, ts.ScriptTarget.Latest, true);
  const acts = (node: ts.Statement) =>
    ts.isExpressionStatement(node) || ts.isForOfStatement(node) || ts.isIfStatement(node);
  if (statements.some(acts)) return "program";
  return /^export default /m.test(text) ? "extension" : "parts";
}

function snippets(): Snippet[] {
  return PAGES.flatMap((page) => {
    const source = readFileSync(join(PACKAGE_DIR, page), "utf8");
    const fenced = [...source.matchAll(/^```(\S*)\n([\s\S]*?)^```$/gm)];
    const code = fenced.filter(([, language = ""]) => !NO_CODE.includes(language));
    return code.map(([, language = "", given = ""], index) => {
      const text = inThisPi(given);
      const name = page.replace(/^docs\//, "").replace(/\.md$/, "");
      return { page, language, text, file: `${name}-${index + 1}.${language}`, kind: kindOf(text) };
    });
  });
}

const all = snippets();
let project = "";

/** The one snippet with these words in it. */
function withWords(words: string, kind: Snippet["kind"]): Snippet {
  const found = all.filter((snippet) => snippet.text.includes(words));
  expect(found.map(({ file }) => file)).toHaveLength(1);
  const [snippet] = found as [Snippet];
  expect(snippet.kind).toBe(kind);
  done.add(snippet.file);
  return snippet;
}

/** Files of the snippets that were run. */
const done = new Set<string>();

function extension(
  words: string,
  options: Pick<RunOptions, "model" | "prompt"> & Partial<RunOptions>,
): Promise<RunResult> {
  const { file } = withWords(words, "extension");
  return runPi({ extensions: [join(project, "node_modules/pi-token-budget"), join(project, file)], ...options });
}

async function program(words: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const { file } = withWords(words, "program");
  const ran = await run(host.node, [file], { cwd: project, env: { ...environment.variables, ...env } });
  expect(ran, ran.stderr).toMatchObject({ code: 0, stderr: "" });
  return ran.stdout;
}

beforeAll(() => {
  project = packedProject(host);
  for (const { file, text } of all) writeFileSync(join(project, file), text);
}, 5 * MINUTES);

afterAll(() => {
  environment.remove();
  rmSync(project, { recursive: true, force: true });
});

describe("the code in the documents", () => {
  it("is TypeScript or JavaScript, and there is some on the pages for programs", () => {
    expect([...new Set(all.map(({ language }) => language))].sort()).toEqual(["js", "ts"]);
    expect(new Set(all.map(({ page }) => page))).toEqual(
      new Set(["docs/categories.md", "docs/dispatch.md", "docs/launcher-api.md", "docs/todo.md"]),
    );
  });

  it("compiles under --strict, with the examples and Pi's own functions as options, by the types of the packed package and this Pi", async () => {
    const examples = readdirSync(EXAMPLES).filter((name) => name.endsWith(".ts"));
    expect(examples).toEqual(["parent-and-child.ts"]);
    for (const name of examples)
      writeFileSync(join(project, name), inThisPi(readFileSync(join(EXAMPLES, name), "utf8")));
    writeFileSync(join(project, "options.ts"), OPTIONS);
    const strict = { strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true, noEmit: true };
    const javascript = { allowJs: true, checkJs: true };
    const compilerOptions = { ...strict, ...javascript, skipLibCheck: true, module: "nodenext", target: "es2023" };
    const files = [...all.map(({ file }) => file), ...examples, "options.ts"];
    writeFileSync(
      join(project, "tsconfig.json"),
      JSON.stringify({ compilerOptions: { ...compilerOptions, types: ["node"] }, files }),
    );
    const tsc = join(PACKAGE_DIR, "node_modules/typescript/bin/tsc");
    const { code, stdout } = await run(process.execPath, [tsc, "-p", project], { cwd: project, limitMs: 3 * MINUTES });
    expect(stdout).toBe("");
    expect(code).toBe(0);
  });

  it("that is JSON can be read", () => {
    for (const page of PAGES) {
      const source = readFileSync(join(PACKAGE_DIR, page), "utf8");
      for (const [, text = ""] of source.matchAll(/^```json\n([\s\S]*?)^```$/gm))
        expect(() => JSON.parse(text), `${page}: ${text}`).not.toThrow();
    }
  });
});

describe("an extension from the documents", () => {
  it("finds its session's task", async () => {
    const ran = await extension("JSON.stringify(task.context)", { model: ["hello"], prompt: "Begin." });
    expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: "hello\n" });
    expect(ran.stderr).toMatch(/^\/root \{"version":1,"runId":/m);
    ran.environment.remove();
  });

  it("gives its session a category, and asks which model may have it", async () => {
    const settings = { tokenBudget: { categories: { "client-x": { models: ["scripted/m"] } } } };
    const ran = await extension("setAgentCategory(task.context", { model: ["hello"], prompt: "/client-x", settings });
    expect(ran.stderr).toBe("scripted/m\n");
    expect(ran.code).toBe(0);
    ran.environment.remove();
  });

  it("tells an editor of the plan", async () => {
    const todos = [{ content: "read", status: "pending" }];
    const ran = await extension("todosToPlan(todos)", {
      model: [[call("todo_write", { todos })], "done"],
      prompt: "Begin.",
    });
    expect(ran.stdout).toBe("done\n");
    const plan = JSON.parse(ran.stderr.trim().split("\n").at(-1) ?? "{}") as { params: { update: unknown } };
    const entries = [{ content: "read", status: "pending", priority: "medium" }];
    expect(plan.params.update).toEqual({ sessionUpdate: "plan", entries });
    ran.environment.remove();
  });

  it("has a task done, and puts what came of it into the project", async () => {
    const cwd = join(project, "sums");
    mkdirSync(cwd);
    writeFileSync(join(cwd, "sales.csv"), "2026-01-03,5\n2026-01-09,7\n");
    const write = {
      type: "toolCall",
      id: "call_1",
      name: "write",
      arguments: { path: "output/summary.csv", content: "2026-01,12\n" },
    };
    const source = `(_request, n) => n === 0 ? [${JSON.stringify(write)}] : "January: 12."`;
    const ran = await extension("createTaskDispatcher(parent)", { model: { source }, prompt: "/sum", cwd });
    expect(ran.stderr).toContain("Wrote output/summary.csv\ncompleted January: 12.\n");
    expect(readFileSync(join(cwd, "summary.csv"), "utf8")).toBe("2026-01,12\n");
    ran.environment.remove();
  });
});

describe("a program from the documents", () => {
  it("chooses models by their labels", async () => {
    expect(await program("createRouter({")).toBe("model-a\nmodel-b\n");
  });

  it("has children of a task of its own, and another reads what they wrote", async () => {
    const bin = join(project, "bin");
    mkdirSync(bin);
    const replies = [[call("notes_write_file", { path: "found.md", text: "Nothing is wrong." })], "All reviewed."];
    const { extension: model, env, requestsPath } = writeModel(replies, project);
    writePiScript(join(bin, "pi"), [host.node, host.cli, "-e", model, "--model", "scripted/m"], env);
    const printed = await program("createTask({", { PATH: `${bin}:${process.env.PATH}` });
    expect(printed).toBe("All reviewed.\nAll reviewed.\n");
    const lines = readFileSync(requestsPath, "utf8").trim().split("\n");
    const asked = lines.map((line) => textOf((JSON.parse(line) as Request).messages.at(-1)));
    expect(asked.filter((text) => text.includes("You are the reader"))).toHaveLength(1);
    expect(await program("openTask(JSON.parse")).toBe("/root/reader 1 found.md\n/root/writer 1 found.md\n");
  });

  it("and every extension is among these", () => {
    const whole = all.filter(({ kind }) => kind !== "parts").map(({ file }) => file);
    expect([...done].sort()).toEqual(whole.sort());
  });
});
