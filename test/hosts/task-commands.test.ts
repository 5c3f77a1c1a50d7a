// What a person does with tasks in a session: works on the project with the session's own model, takes the product, stops,
// repeats and removes.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { call, type Request, type Script, text } from "../../fixtures/pi/scripted-model.ts";
import type { PiSession } from "../../fixtures/pi/session.ts";
import { until } from "../../fixtures/pi/wait.ts";
import { closeAfterEach, pi, said } from "./support.ts";

closeAfterEach();

const isTask = ({ systemPrompt }: Request) => systemPrompt.startsWith("You carry out one task");
const results = (request: Request) => request.messages.filter(({ role }) => role === "toolResult").length;

const SITE = ["output/site/css/style.css", "output/site/img/style.css", "output/index.html"];

/** Writes a page with folders, one file a turn, then answers. */
const page: Script = (request) => {
  if (!isTask(request)) return "hello";
  const path = SITE[results(request)];
  return path ? [call("write", { path, content: `content of ${path}` })] : "The page is done.";
};

function ended(s: PiSession, count = 1) {
  const ends = () =>
    s.ui.notices.filter(({ message }) => /^Task \w+ (is completed|failed|was cancelled).* shows it\.$/s.test(message));
  return until(`${count} ended tasks`, () => ends().length >= count && ends());
}

/** Starts a task; its end may be told before this returns. */
async function started(s: PiSession, line: string): Promise<string> {
  const before = s.ui.notices.length;
  await s.session.prompt(line);
  const answer = s.ui.notices[before]?.message ?? "";
  const id = /^Task (\w+) has started/.exec(answer)?.[1];
  if (id === undefined) throw new Error(answer);
  return id;
}

interface Commands {
  getCommand(name: string): { getArgumentCompletions?(prefix: string): Promise<readonly { value: string }[] | null> };
}

async function completions(s: PiSession, command: string, prefix: string): Promise<readonly string[]> {
  const { extensionRunner } = s.session as unknown as { readonly extensionRunner: Commands };
  const choices = await extensionRunner.getCommand(command).getArgumentCompletions?.(prefix);
  return (choices ?? []).map(({ value }) => value);
}

describe("the product of a task", () => {
  it("is put where the person wants it, with its folders, and replaces nothing without a yes", async () => {
    const s = await pi({ ui: true, next: page });
    const id = await started(s, "/task Make a page");
    await ended(s);
    const short = id.slice(0, 6);
    expect(await completions(s, "tasks", `${short} s`)).toEqual([`${short} save`, `${short} stop`]);
    expect(await completions(s, "tasks", `${short} save site/c`)).toEqual([`${short} save site/css/style.css`]);
    expect(await said(s, `/tasks ${short} save`)).toBe(
      "Saved 3 files: index.html, site/css/style.css, site/img/style.css.",
    );
    const at = (path: string) => readFileSync(join(s.project, path), "utf8");
    expect(at("site/img/style.css")).toBe("content of output/site/img/style.css");
    writeFileSync(join(s.project, "index.html"), "mine");
    expect(await said(s, `/tasks ${short} save index.html`)).toBe("Nothing was saved.");
    expect(s.ui.questions.at(-1)).toContain(join(s.project, "index.html"));
    expect(at("index.html")).toBe("mine");
    s.ui.confirms = true;
    expect(await said(s, `/tasks ${short} save index.html`)).toBe("Saved 1 file: index.html.");
    expect(at("index.html")).toBe("content of output/index.html");
    expect(await said(s, `/tasks ${short} save site/css/style.css "my styles/new.css"`)).toMatch(
      /^Saved 1 file: my styles/,
    );
    expect(at("my styles/new.css")).toBe("content of output/site/css/style.css");
    expect(await said(s, `/tasks ${short} save * ${join(s.directory, "out")}/`)).toMatch(/^Saved 3 files: /);
    expect(readdirSync(join(s.directory, "out")).sort()).toEqual(["index.html", "site"]);
    expect(await said(s, `/tasks ${short} save no.txt`)).toMatch(
      /^There is no file no\.txt in task \w+\. Its files are index/,
    );
    expect(await said(s, `/tasks ${short} open site/css/style.css`)).toBe(
      "site/css/style.css:\ncontent of output/site/css/style.css",
    );
    expect(readdirSync(s.project).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  it("replaces nothing where nobody can be asked, and never goes through a link", async () => {
    const s = await pi({ ui: true, next: page });
    const id = await started(s, "/task Make a page");
    await ended(s);
    mkdirSync(join(s.project, "site"));
    writeFileSync(join(s.project, "site", "css"), "a file");
    expect(await said(s, `/tasks ${id} save`)).toMatch(/a file stands where a folder has to be\. Nothing was saved/);
    expect(existsSync(join(s.project, "index.html"))).toBe(false);
  });
});

describe("a task on the project", () => {
  it("works in its directory with the session's own model, and ~ is the person's home", async () => {
    const models = [{ id: "first" }, { id: "own" }, { id: "third" }];
    const s = await pi({
      ui: true,
      models,
      next: (request) => {
        if (!isTask(request)) return "hello";
        return results(request) === 0 ? [call("write", { path: "fixed.txt", content: "x" })] : "Fixed work/a.ts";
      },
    });
    await s.selectModel("own");
    const id = await started(s, "/task --cwd . Fix it");
    await ended(s);
    expect(readFileSync(join(s.project, "fixed.txt"), "utf8")).toBe("x");
    expect(readdirSync(s.project)).toEqual(["fixed.txt"]);
    expect(await said(s, `/tasks ${id}`)).toMatch(
      /is completed, scripted-\d+\/own, not confined\n[\s\S]*Changed in .*: fixed\.txt\.[\s\S]*Fixed work\/a\.ts$/,
    );
    const other = await started(s, `/task --model ${s.provider}/third Fix it`);
    await ended(s, 2);
    expect(await said(s, `/tasks ${other}`)).toContain(`${s.provider}/third`);
    expect(await said(s, "/task --cwd ~/no-such-folder Fix it")).toContain(join(homedir(), "no-such-folder"));
    expect(await said(s, "/task --runner nobody Fix it")).toContain("there are session, cli");
    expect(await said(s, "/task --modle x Fix it")).toContain("did you mean --model?");
    expect(await completions(s, "task", `--model ${s.provider}/t`)).toEqual([`--model ${s.provider}/third`]);
    expect(await completions(s, "task", "--runner ")).toEqual(["--runner session", "--runner cli"]);
    expect(s.requests.filter(isTask).map(({ model }) => model)).toEqual(["own", "own", "third", "third"]);
  });
});

describe("a task", () => {
  it("is stopped midway with what it had written, run again, listed in columns and removed with a yes", async () => {
    let runs = 0;
    const s = await pi({
      ui: true,
      next: (request) => {
        if (!isTask(request)) return "hello";
        if (results(request) === 0) return [call("write", { path: "output/half.txt", content: "half" })];
        return runs++ === 0 ? { content: [text("late")], delayMs: 60_000 } : "whole";
      },
    });
    const id = await started(s, "/task Write it down");
    await until("the second request", () => runs > 0);
    expect(await said(s, `/tasks stop ${id.slice(0, 5)}`)).toMatch(/^Task \w+ is stopped: Write it down\. What it had/);
    expect(await said(s, `/tasks ${id}`)).toContain("Files: half.txt (4 bytes, partial)");
    expect(await said(s, `/tasks stop ${id}`)).toContain("there is nothing to stop");
    expect(await started(s, `/tasks rerun ${id}`)).toBe(id);
    await ended(s, 2);
    expect(await said(s, "/tasks")).toMatch(
      /^id {8}status {5}age {2,}steps {2}cost {2,}goal\n[0-9a-f]{8} {2}completed {2}\d+ s {2,}\d+ {5,}[\d,]+ tokens {2}Write it down$/,
    );
    expect(await said(s, `/tasks remove ${id}`)).toBe("Nothing was removed.");
    s.ui.confirms = true;
    expect(await said(s, `/tasks remove ${id}`)).toMatch(/^Task \w+ is removed/);
    expect(await said(s, "/tasks")).toMatch(/^There are no tasks/);
    expect(await said(s, "/tasks frobnicate x y z")).toMatch(/^\/tasks does not know/);
  });
});
