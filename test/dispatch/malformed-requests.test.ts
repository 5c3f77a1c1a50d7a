// Requests that nobody should send, as one set: each is refused with what is wrong and the way out, and the storage is byte for
// byte what it was before.
import { spawnSync } from "node:child_process";
import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, truncateSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { TokenBudgetError } from "../../src/errors.ts";
import { answering, bench } from "./dispatchers.ts";

/** Everything below a directory: what each path is, and the bytes of files. */
function treeOf(root: string): Record<string, string> {
  const tree: Record<string, string> = {};
  for (const name of readdirSync(root, { recursive: true, encoding: "utf8" })) {
    const path = join(root, name);
    const stats = lstatSync(path);
    tree[name] = stats.isFile() ? readFileSync(path, "base64") : stats.isDirectory() ? "directory" : "other";
  }
  return tree;
}

const LONG = "x".repeat(50_001);

/** One character more than leaves room for the names of later runs. */
const LONG_NAME = "a".repeat(497);

/** What is asked, by its words, and what the refusal says. */
const MALFORMED: readonly (readonly [what: string, request: unknown, says: RegExp])[] = [
  ["nothing", undefined, /the request/],
  ["null", null, /the request/],
  ["a text", "Sum it", /the request/],
  ["a number", 7, /the request/],
  ["a list", [{ goal: "x" }], /the request|no field/],
  ["an empty object", {}, /goal is/],
  ["no goal", { context: "c" }, /goal is/],
  ["goal null", { goal: null }, /goal is null/],
  ["goal number", { goal: 5 }, /goal is 5/],
  ["goal list", { goal: ["x"] }, /goal is/],
  ["goal object", { goal: { text: "x" } }, /goal is/],
  ["goal empty", { goal: "" }, /goal is empty/],
  ["goal blank", { goal: " \n\t " }, /goal is empty/],
  ["goal long", { goal: LONG }, /goal is longer than 50,000/],
  ["goal blank and long", { goal: " ".repeat(50_001) }, /goal is longer/],
  ["context number", { goal: "x", context: 1 }, /context is 1/],
  ["context long", { goal: "x", context: LONG }, /context is longer/],
  ["category empty", { goal: "x", category: "" }, /category/],
  ["category other", { goal: "x", category: "other" }, /category is "other"/],
  ["category number", { goal: "x", category: 3 }, /category/],
  ["category odd", { goal: "x", category: "../s" }, /category/],
  ["name empty", { goal: "x", agentName: "" }, /agentName/],
  ["name capital", { goal: "x", agentName: "Reviewer" }, /agentName/],
  ["name up", { goal: "x", agentName: "../x" }, /agentName/],
  ["name with an empty part", { goal: "x", agentName: "a//b" }, /agentName/],
  ["name with a mark", { goal: "x", agentName: "a\u202eb" }, /agentName/],
  ["name with a control", { goal: "x", agentName: "a\u0000b" }, /agentName/],
  ["name long", { goal: "x", agentName: "a".repeat(600) }, /agentName/],
  ["name without room for later runs", { goal: "x", agentName: LONG_NAME }, /agentName .* at most 502 leave room/],
  ["name of a later run", { goal: "x", agentName: "a_run2" }, /agentName/],
  ["name an address elsewhere", { goal: "x", agentName: "/other/a" }, /agentName/],
  ["name number", { goal: "x", agentName: 4 }, /agentName/],
  ["model without a provider", { goal: "x", model: "m" }, /model is "m"; a model is named provider\/id/],
  ["model without an id", { goal: "x", model: "p/" }, /model is/],
  ["model blank", { goal: "x", model: " p/m" }, /model is/],
  ["model object", { goal: "x", model: { id: "m" } }, /model is/],
  ["runner unknown", { goal: "x", runner: "shell" }, /runner is "shell"; there are session/],
  ["runner inherited", { goal: "x", runner: "constructor" }, /runner is "constructor"/],
  ["runner null", { goal: "x", runner: null }, /runner/],
  ["cwd empty", { goal: "x", cwd: "" }, /cwd is/],
  ["cwd missing", { goal: "x", cwd: "/does/not/exist" }, /cwd is/],
  ["cwd number", { goal: "x", cwd: 1 }, /cwd is/],
  ["cwd with a zero", { goal: "x", cwd: "/tmp\u0000" }, /cwd is/],
  ["signal of another kind", { goal: "x", signal: {} }, /signal/],
  ["unknown field", { goal: "x", atachments: ["a"] }, /no field "atachments"/],
  ["inherited field", JSON.parse('{"goal":"x","__proto__":{"cwd":"/"}}'), /no field "__proto__"/],
  ["attachments text", { goal: "x", attachments: "a.txt" }, /attachments/],
  ["attachments object", { goal: "x", attachments: { path: "a" } }, /attachments/],
  ["attachments many", { goal: "x", attachments: Array(51).fill("good.txt") }, /attachments has 51 entries/],
  ["attachment null", { goal: "x", attachments: ["good.txt", null] }, /attachments\[1\]/],
  ["attachment empty", { goal: "x", attachments: ["good.txt", ""] }, /attachments\[1\] .*no path/],
  ["attachment number", { goal: "x", attachments: ["good.txt", 5] }, /attachments\[1\]/],
  ["attachment without a path", { goal: "x", attachments: ["good.txt", { name: "a" }] }, /attachments\[1\] .*no path/],
  ["attachment with a zero", { goal: "x", attachments: ["good.txt", "a\u0000b"] }, /attachments\[1\]/],
  ["attachment missing", { goal: "x", attachments: ["good.txt", "no.txt"] }, /attachments\[1\] .*no such file/],
  ["attachment below a file", { goal: "x", attachments: ["good.txt", "good.txt/a"] }, /attachments\[1\]/],
  ["attachment a directory", { goal: "x", attachments: ["good.txt", "folder"] }, /attachments\[1\] .*directory/],
  ["attachment up", { goal: "x", attachments: ["good.txt", ".."] }, /attachments\[1\]/],
  ["attachment a link", { goal: "x", attachments: ["good.txt", "link"] }, /attachments\[1\] .*symbolic link/],
  ["attachment a dead link", { goal: "x", attachments: ["good.txt", "dead"] }, /attachments\[1\] .*symbolic link/],
  ["attachment a pipe", { goal: "x", attachments: ["good.txt", "pipe"] }, /attachments\[1\] .*not a plain file/],
  ["attachment a socket", { goal: "x", attachments: ["good.txt", "socket"] }, /attachments\[1\] .*not a plain file/],
  ["attachment a device", { goal: "x", attachments: ["good.txt", "/dev/zero"] }, /attachments\[1\] .*not a plain file/],
  ["attachment of 2 GB", { goal: "x", attachments: ["good.txt", "sparse"] }, /attachments\[1\] .*2,147,483,648 bytes/],
  ["name of dots", { goal: "x", attachments: ["good.txt", { path: "good.txt", name: ".." }] }, /no file name/],
  ["name of nothing", { goal: "x", attachments: ["good.txt", { path: "good.txt", name: "" }] }, /no file name/],
  ["name with a line", { goal: "x", attachments: ["good.txt", { path: "good.txt", name: "a\nb" }] }, /no file name/],
  ["name of 300", { goal: "x", attachments: [{ path: "good.txt", name: "n".repeat(300) }] }, /no file name/],
  ["name no text", { goal: "x", attachments: [{ path: "good.txt", name: 5 }] }, /name is no text/],
];

it("each is refused with its fault and the way out, and leaves the storage as it was", async () => {
  const { dispatcher, place, file } = bench([answering("done")]);
  file("good.txt", "good");
  mkdirSync(join(place.base, "folder"));
  symlinkSync(join(place.base, "good.txt"), join(place.base, "link"));
  symlinkSync("/no/such/file", join(place.base, "dead"));
  expect(spawnSync("mkfifo", [join(place.base, "pipe")]).status).toBe(0);
  const server = createServer();
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(join(place.base, "socket"), resolve));
  // A task that was accepted before: the refusals leave it alone, too.
  await (await dispatcher.dispatch({ goal: "before", attachments: ["good.txt"] })).result;
  const before = treeOf(place.base);
  truncateSync(file("sparse", ""), 2 ** 31);
  expect(MALFORMED.length).toBeGreaterThanOrEqual(40);
  const rss = process.memoryUsage.rss();
  for (const [what, request, says] of MALFORMED) {
    const refusal = await dispatcher.dispatch(request as never).then(
      () => "accepted",
      (error: unknown) => error,
    );
    expect(refusal, what).toBeInstanceOf(TokenBudgetError);
    const { message } = refusal as TokenBudgetError;
    expect(message, what).toMatch(says);
    expect(message.length, what).toBeLessThan(600);
    expect(message, what).not.toMatch(/(?!\n)\p{Cc}|\u202e/u);
  }
  expect(process.memoryUsage.rss() - rss).toBeLessThan(100 * 2 ** 20);
  truncateSync(join(place.base, "sparse"), 0);
  expect(treeOf(place.base)).toEqual({ ...before, sparse: "" });
  expect(await dispatcher.ids()).toHaveLength(1);
});

it("a name that no file system takes everywhere becomes a plain one, and comes back as it was", async () => {
  const names = [
    ...["con", "CON.txt", "nul", "..hidden", "-rf", "a:b", 'quote".txt', "ends with dot.", "$(reboot).txt"],
    ...["ÅÅ.txt", "Å.txt", "readme.TXT", "README.txt", "rtl\u202egpj.exe", "e\u0301.txt", `${"名".repeat(84)}.csv`],
  ];
  const { dispatcher, file, place } = bench([answering("done")]);
  file("good.txt", "good");
  const attachments = names.map((name) => ({ path: "good.txt", name }));
  const task = await (await dispatcher.dispatch({ goal: "x", attachments })).result;
  expect(task.status).toBe("completed");
  expect(task.files.map(({ filename }) => filename)).toEqual(names);
  expect(readdirSync(place.base).filter((name) => names.includes(name))).toEqual([]);
});

it("the longest name there may be is that of a task which can run again and be removed", async () => {
  const { dispatcher } = bench([answering("done")]);
  const { id } = await (await dispatcher.dispatch({ goal: "x", agentName: LONG_NAME.slice(1) })).result;
  expect(await (await dispatcher.rerun(id)).result).toMatchObject({ id, status: "completed" });
  await dispatcher.remove(id);
  expect(await dispatcher.ids()).toEqual([]);
});
