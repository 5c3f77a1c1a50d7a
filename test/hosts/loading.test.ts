// What the packed form reads when: Pi's load of the extension reads the core, a session what every session needs, and the
// rest is read when somebody uses it. Counted in files and bytes. And an update beneath a running session, in which what
// was not read yet is gone.
import { cpSync, mkdirSync, readdirSync, readFileSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { type RunResult, runPi } from "../../fixtures/pi/cli.ts";
import { makeEnvironment, type PrivateEnvironment, scratchFolder } from "../../fixtures/pi/environment.ts";
import { currentHostName, PACKAGE_DIR } from "../../fixtures/pi/hosts.ts";
import { installedDirectory } from "../../fixtures/pi/installed.ts";
import { call, textOf } from "../../fixtures/pi/scripted-model.ts";

const PROBE = join(PACKAGE_DIR, "fixtures/pi/package-probe.mjs");
const used: PrivateEnvironment[] = [];
afterEach(() => {
  for (const environment of used.splice(0)) environment.remove();
});

/** A copy of the package that a test may take apart. */
function ownCopy(): string {
  const folder = join(realpathSync(scratchFolder()), "pi-token-budget");
  mkdirSync(folder);
  for (const name of ["extension.js", "package.json", "dist"])
    cpSync(join(installedDirectory(), name), join(folder, name), { recursive: true });
  return folder;
}

interface Probed extends RunResult {
  /** Files of the package, by their part, that had been read at each moment. */
  readonly read: Readonly<Record<string, readonly string[]>>;
}

interface Asked {
  readonly folder: string;
  readonly model: Parameters<typeof runPi>[0]["model"];
  readonly prompt?: string;
  readonly updates?: boolean;
}

const partOf = (file: string) => file.replace(/(-[0-9a-f]{10})?\.cjs$/, "");

async function probed({ folder, model, prompt = "Begin.", updates = false }: Asked): Promise<Probed> {
  const file = join(scratchFolder(), "read.jsonl");
  const made = makeEnvironment();
  used.push(made);
  const variables = { ...made.variables, PACKAGE_PROBE: JSON.stringify({ folder, file, updates }) };
  const ran = await runPi({ extensions: [folder, PROBE], model, prompt, environment: { ...made, variables } });
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  const rows = lines.map((line) => JSON.parse(line) as { when: string; files: readonly string[] });
  return { ...ran, read: Object.fromEntries(rows.map(({ when, files }) => [when, files.map(partOf).sort()])) };
}

describe("the packed form", () => {
  it("reads the core to load, the session's part at its start, and nothing else in a turn with a note", async () => {
    const model = [[call("notes_write_file", { path: "plan.md", text: "first" })], "done"];
    const { read, stdout, stderr } = await probed({ folder: ownCopy(), model });
    expect(stdout, stderr).toBe("done\n");
    expect(read).toEqual({ loaded: ["core"], started: ["core", "session"], ran: ["core", "session"] });
  });

  it("grows at its start by no more than a guarded number of bytes", () => {
    const folder = join(installedDirectory(), "dist");
    const bytesOf = (part: string) =>
      readdirSync(folder)
        .filter((file) => file.endsWith(".cjs") && partOf(file) === part)
        .reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
    // Each 10,000 bytes are a third of a millisecond and more of every start.
    expect(bytesOf("core")).toBeGreaterThan(50_000);
    expect(bytesOf("core")).toBeLessThan(175_000);
    expect(bytesOf("session")).toBeGreaterThan(50_000);
    expect(bytesOf("session")).toBeLessThan(450_000);
  });
});

/** What opened the windows, by the session file. */
function causesIn(sessionFile: string): unknown[] {
  const lines = readFileSync(sessionFile, "utf8").trimEnd().split("\n");
  return lines.flatMap((line) => {
    const entry = JSON.parse(line) as { details?: { cause?: string }; message?: { details?: { cause?: string } } };
    return entry.details?.cause ?? entry.message?.details?.cause ?? [];
  });
}

describe("a refusal in words that only Pi itself takes for an overflow", () => {
  const refusal = { content: [], stopReason: "error", errorMessage: "token limit exceeded" } as const;
  it.each([
    ["as Node loads the extension", true],
    ["as Pi's loader transforms it", false],
  ])("opens a window, %s", async (_how, isModule) => {
    const folder = ownCopy();
    const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { type?: string };
    if (!isModule) delete manifest.type;
    writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
    const model = [[call("bash", { command: "echo one" })], refusal, "answered after all"];
    const { sessionFiles, stderr } = await probed({ folder, model });
    const causes = causesIn(sessionFiles[0] ?? "");
    // 0.73.1 may end before the window has opened (docs/hosts.md).
    if (currentHostName() === "0.73.1" && causes.length === 0) return;
    expect(causes, stderr).toEqual(["overflow"]);
  });
});

describe("an update beneath a running session", () => {
  it("costs nothing that the model or the windows need", async () => {
    const { stdout, stderr, requests, code } = await probed({
      folder: ownCopy(),
      updates: true,
      model: [
        [call("notes_write_file", { path: "checkpoint.md", text: "half done ½" })],
        [call("new_context")],
        [call("history_list_items", {}), call("todo_write", { todos: [{ content: "one", status: "pending" }] })],
        [call("notes_read_file", { path: "checkpoint.md" })],
        "all done",
      ],
    });
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "all done\n", stderr: "" });
    const results = requests.flatMap(({ messages }) => messages.filter(({ role }) => role === "toolResult"));
    expect(results.filter(({ isError }) => isError).map(textOf)).toEqual([]);
    expect(textOf(requests.at(-1)?.messages.at(-1))).toContain("half done ½");
  });

  it.each(["/token-budget doctor", "/context", "/task Look at the plan."])(
    "%s says in one sentence that Pi has to be restarted",
    async (prompt) => {
      const { stdout, stderr, code } = await probed({ folder: ownCopy(), updates: true, model: ["hello"], prompt });
      expect(code, stderr).toBe(0);
      const said = `${stdout}${stderr}`;
      expect(said).toContain("pi-token-budget was updated or removed while this program runs");
      expect(said).toContain("Restart Pi");
      expect(said).not.toMatch(/^\s+at |Cannot find module|Require stack|another build was read/m);
    },
  );
});
