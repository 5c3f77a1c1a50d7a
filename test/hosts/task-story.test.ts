// A person's day with tasks, told with the real command line of each host in print mode: a page with folders is made and taken
// out, a task on the project is killed midway, found again as partial, and run again.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { prepareCli, runPi } from "../../fixtures/pi/cli.ts";
import { makeEnvironment } from "../../fixtures/pi/environment.ts";
import { until } from "../../fixtures/pi/wait.ts";

const environments: ReturnType<typeof makeEnvironment>[] = [];
afterEach(() => {
  for (const environment of environments.splice(0)) environment.remove();
});

/** Makes a page; on the project it writes a line, and is slow the first time. */
const MODEL = {
  source: `(request) => {
  if (!request.systemPrompt.startsWith("You carry out one task")) return "hello";
  const said = JSON.stringify(request.messages);
  const done = request.messages.filter(({ role }) => role === "toolResult").length;
  const write = (path, content) => [{ type: "toolCall", id: "c" + done, name: "write", arguments: { path, content } }];
  if (!said.includes("Fix it")) {
    const path = ["output/site/css/style.css", "output/site/img/style.css"][done];
    return path ? write(path, path) : "The page is in output/site/css/style.css";
  }
  if (done === 0) return write("notes.txt", "fixed");
  if (done === 1) return write((/lie in ([^ ]+) below/.exec(said) || [])[1] + "output/half.txt", "half");
  return process.getBuiltinModule("node:fs").existsSync("go-on") ? "Fixed work/parser.ts." : { content: [{ type: "text", text: "late" }], delayMs: 120000 };
}`,
};

it("makes, takes, loses and repeats", async () => {
  const environment = makeEnvironment();
  environments.push(environment);
  const cwd = join(environment.directory, "project");
  mkdirSync(cwd);
  const pi = (prompt: string, ...args: string[]) => runPi({ model: MODEL, environment, cwd, prompt, args });
  const page = await pi("/task Make a page");
  expect(page.stdout).toBe("The page is in site/css/style.css\n");
  const id = /Task (\w+) is completed/.exec(page.stderr)?.[1] ?? "none";
  expect((await pi(`/tasks ${id.slice(0, 6)} save`, "-c")).stderr).toContain(
    "Saved 2 files: site/css/style.css, site/img/style.css.",
  );
  expect(readFileSync(join(cwd, "site/img/style.css"), "utf8")).toBe("output/site/img/style.css");
  expect((await pi(`/tasks ${id} save`, "-c")).stderr).toContain("nobody can be asked here");

  const { command, args, env } = prepareCli({ model: MODEL, environment, cwd, args: ["-c"] });
  const killed = spawn(command, [...args, "-p", "/task --cwd . Fix it"], {
    cwd,
    env: { ...process.env, ...env },
    stdio: "ignore",
  });
  const ended = new Promise((resolve) => killed.once("close", resolve));
  const folder = join(cwd, ".pi-task");
  const product = (task: string) => join(folder, task, "output", "half.txt");
  const isWritten = (file: string) => existsSync(file) && readFileSync(file, "utf8") === "half";
  const half = () => existsSync(folder) && readdirSync(folder).some((task) => isWritten(product(task)));
  await until("half a product", half);
  killed.kill("SIGKILL");
  await ended;
  const list = await pi("/tasks", "-c");
  const [, broken = ""] = /(\w{8}) {2}failed .*Fix it/.exec(list.stderr) ?? [];
  expect((await pi(`/tasks ${broken}`, "-c")).stderr).toContain("Files: half.txt (4 bytes, partial)");
  expect(readdirSync(cwd).sort()).toEqual(["notes.txt", "site"]);
  writeFileSync(join(cwd, "go-on"), "");
  const again = await pi(`/tasks rerun ${broken}`, "-c");
  expect(again.stdout).toBe("Fixed work/parser.ts.\n");
  expect((await pi("/tasks", "-c")).stderr).toMatch(/completed .*Fix it\n.*completed .*Make a page/);
});
