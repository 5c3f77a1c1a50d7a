// What confines tasks: which sandbox a setting names, where one cannot work, and what its child is shown of the disk.
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { noBwrapReason } from "../../fixtures/pi/sandboxed.ts";
import { openDispatcher } from "../../src/dispatch/create.ts";
import { bwrapSandbox, placeArguments, systemArguments } from "../../src/dispatch/sandbox/bwrap.ts";
import { sandboxOf } from "../../src/dispatch/sandbox/choice.ts";
import { containerArguments } from "../../src/dispatch/sandbox/container.ts";
import { childPlaces, holds, programPlaces } from "../../src/dispatch/sandbox/places.ts";
import type { ChildProcess } from "../../src/dispatch/sandbox/sandbox.ts";
import { taskRows } from "../../src/ui/task-rows.ts";
import { taskText } from "../../src/ui/task-text.ts";
import { temporaryDirectory } from "../storage/disks.ts";
import { newPlace } from "../task/tasks.ts";
import { answering, bench, parentOf, scriptRunner } from "./dispatchers.ts";

const NOWHERE = { cwd: null, program: "pi", packageRoot: "/nowhere", env: process.env };
const isPosix = process.platform !== "win32";

/** A program of this name that is a shell script. */
function script(name: string, text: string): string {
  const path = join(temporaryDirectory(), name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** A session's dispatcher with its own runners, where nothing is ever started. */
function dispatcherWith(taskSandbox: readonly string[]) {
  const place = newPlace();
  const { task } = place.open(place.session("root"));
  const childExtension = () => {
    throw new Error("no child is started here");
  };
  const dispatcher = openDispatcher(parentOf(task), { childExtension, settings: { taskSandbox } });
  onTestFinished(() => dispatcher.close());
  return dispatcher;
}

describe("the setting", () => {
  it("that is empty names none, and one that is not known is refused", () => {
    expect(sandboxOf([])).toBeNull();
    expect(sandboxOf(["/usr/local/bin/bwrap", "--ro-bind", "/a", "/a"])?.name).toBe("bwrap");
    for (const words of [["bwarp"], ["constructor"], ['"bwrap"'], ["bwrap/"]].slice(0, 3))
      expect(() => sandboxOf(words)).toThrow(/taskSandbox is .*first word must be one of bwrap/s);
  });

  it("makes cli the runner, and a runner in this process is refused", async () => {
    const dispatcher = dispatcherWith(["bwarp"]);
    await expect(dispatcher.dispatch({ goal: "g" })).rejects.toThrow(/taskSandbox is \["bwarp"\]/);
    const inProcess = dispatcher.dispatch({ goal: "g", runner: "session" });
    await expect(inProcess).rejects.toThrow(
      /session works in this process, and the setting taskSandbox confines tasks/,
    );
    expect(await dispatcher.ids()).toEqual([]);
  });
});

describe.runIf(process.platform === "linux")(
  "a task whose sandbox cannot work is refused before anything is stored",
  () => {
    it("because the program is not there", async () => {
      const runner = scriptRunner("", { sandbox: () => sandboxOf(["/nowhere/bwrap"]) });
      const { dispatcher } = bench([runner]);
      const refusal = dispatcher.dispatch({ goal: "g" });
      await expect(refusal).rejects.toThrow(
        /no program "\/nowhere\/bwrap"\. Nothing was stored.*apt install bubblewrap/s,
      );
      expect(await dispatcher.ids()).toEqual([]);
    });

    it("because it says so", async () => {
      const program = script("bwrap", "echo 'bwrap: No permissions to create new namespace' >&2; exit 1");
      const asked = sandboxOf([program])?.assertReady(NOWHERE);
      await expect(asked).rejects.toThrow(
        /No permissions to create new namespace.*Have the kernel allow user namespaces/s,
      );
    });

    // Only where there are user namespaces can one be made in which there are none.
    it.skipIf(noBwrapReason() !== undefined || spawnSync("unshare", ["-Ur", "true"]).status !== 0)(
      "because the kernel allows no user namespaces",
      async () => {
        const without = `exec unshare -Ur sh -c 'echo 0 > /proc/sys/user/max_user_namespaces; exec bwrap "$@"' bwrap "$@"`;
        const asked = sandboxOf([script("bwrap", without)])?.assertReady(NOWHERE);
        await expect(asked).rejects.toThrow(/does not work here \(bwrap: .*namespace.*user\.max_user_namespaces/s);
      },
    );
  },
);

describe.runIf(isPosix)("what a child is shown", () => {
  /** A child of a task with folders on the disk. */
  function child(
    more: Partial<ChildProcess> = {},
  ): ChildProcess & { readonly home: string; readonly directory: string } {
    const { place, task, work } = bench([answering("done")]);
    const { storageRoot, runId } = task.context;
    const directory = join(storageRoot, "tasks", runId);
    const [cwd, folder, home] = [join(work, "t1"), join(work, "t1.child"), join(place.base, "home")];
    const folders = ["records", "records.meta", "registry.meta", "history/other", "notes/other"];
    for (const each of [
      cwd,
      folder,
      home,
      join(place.base, "package"),
      ...folders.map((name) => join(directory, name)),
    ])
      mkdirSync(each, { recursive: true });
    for (const name of ["child-extension.ts", "registry.json"]) writeFileSync(join(directory, name), "");
    for (const name of ["sessions", "pi-token-budget", "extensions"])
      mkdirSync(join(place.agentDir, name), { recursive: true });
    for (const name of ["auth.json", "settings.json"]) writeFileSync(join(place.agentDir, name), "{}");
    return {
      ...{
        taskId: "t1",
        program: "pi",
        args: [],
        prompt: "p",
        cwd,
        isNamedCwd: false,
        folder,
        packageRoot: join(place.base, "package"),
        home,
        directory,
      },
      membership: { ...task.context, parentAgentName: "/root", agentName: "/root/task_t1" },
      env: { HOME: home, PI_CODING_AGENT_DIR: place.agentDir, PATH: `/usr/bin:${home}:relative` },
      ...more,
    };
  }

  it("is what a task shares, and of that to be written only what its agents write together and its own", () => {
    const facts = child();
    const places = childPlaces(facts);
    const accessOf = (path: string) => places.findLast((place) => holds(place.path, path))?.access;
    const { cwd, folder, directory, env } = facts;
    const agentDir = env.PI_CODING_AGENT_DIR ?? "";
    const at = (name: string) => accessOf(join(directory, name));
    expect([accessOf(cwd), accessOf(folder)]).toEqual(["write", "read"]);
    expect([at("records"), at("records.meta"), at("work/t2")]).toEqual(["empty", "empty", "empty"]);
    expect([at("child-extension.ts"), at("history/other")]).toEqual(["read", "read"]);
    expect([at("registry.json"), at("registry.meta"), at("notes/other")]).toEqual(["write", "write", "write"]);
    const listed = places.map(({ path }) => path);
    for (const name of ["sessions", "pi-token-budget"]) expect(listed).not.toContain(join(agentDir, name));
    expect(places).toContainEqual({ path: join(agentDir, "auth.json"), access: "write" });
    expect(places).toContainEqual({ path: join(agentDir, "settings.json"), access: "read" });
  });

  it("has no home in it, wherever programs are looked for", () => {
    const facts = child();
    const { args } = bwrapSandbox("bwrap", []).enter(facts) as { readonly args: readonly string[] };
    const bound = args.flatMap((word, at) => (/^--(ro-)?bind(-try)?$/.test(word) ? [args[at + 1] ?? ""] : []));
    expect(bound.filter((path) => holds(path, facts.home))).toEqual([]);
    expect(args.slice(-3)).toEqual(["--chdir", facts.cwd, "pi"]);
  });

  it("has the package of a program and what that imports", () => {
    const root = join(temporaryDirectory(), "node_modules", "some-pi");
    mkdirSync(join(root, "dist"), { recursive: true });
    writeFileSync(join(root, "package.json"), '{"name":"some-pi"}');
    writeFileSync(join(root, "dist", "cli.js"), "");
    const places = programPlaces(child({ program: join(root, "dist", "cli.js") }), () => false);
    const listed = places.map(({ path }) => path);
    expect(listed).toEqual(expect.arrayContaining([join(root, "dist", "cli.js"), root, dirname(root)]));
    expect(new Set(places.map(({ access }) => access))).toEqual(new Set(["read"]));
  });

  // No engine runs in the tests: what it would be given is looked at, and that a person is told where there is none.
  it("is put into a container under its own paths, with Pi of the image and the engine's own options", async () => {
    const facts = child({ args: ["--mode", "json"] });
    const args = containerArguments("docker", ["-e", "SOME_KEY", "some-image"], facts);
    expect(args.slice(0, 6)).toEqual(["run", "--rm", "--interactive", "--init", "--name", "pi-task-t1"]);
    expect(args.slice(-8)).toEqual(["--workdir", facts.cwd, "-e", "SOME_KEY", "some-image", "pi", "--mode", "json"]);
    expect(args).toContain(`type=bind,source=${facts.cwd},target=${facts.cwd}`);
    expect(args).toContain(`type=bind,source=${facts.folder},target=${facts.folder},readonly`);
    expect(args[args.indexOf("--tmpfs") + 1]).toBe(facts.home);
    const mounts = args.filter((word) => word.startsWith("type=bind"));
    expect(mounts.filter((mount) => mount.includes(`source=${facts.home},`) || mount.includes("source=/usr"))).toEqual(
      [],
    );
    expect(containerArguments("podman", ["i"], facts)).toContain("keep-id");
    const gone = sandboxOf(["/nowhere/docker", "some-image"])?.assertReady(NOWHERE);
    await expect(gone).rejects.toThrow(/no program "\/nowhere\/docker"/);
    await expect(sandboxOf(["docker"])?.assertReady(NOWHERE)).rejects.toThrow(/Name the image last/);
    const refusing = script("docker", "echo 'Cannot connect to the Docker daemon' >&2; exit 1");
    const refused = sandboxOf([refusing, "some-image"])?.assertReady(NOWHERE);
    await expect(refused).rejects.toThrow(/Cannot connect to the Docker daemon.*Start the engine/s);
  });

  it("of the system is only to be read", () => {
    const args = systemArguments("/home/me", "/run/systemd/resolve/stub-resolv.conf");
    expect(args).not.toContain("--bind");
    for (const each of ["--unshare-pid", "--unshare-user", "--die-with-parent"]) expect(args).toContain(each);
    expect(args.join(" ")).toContain("--tmpfs /home/me --ro-bind-try /run/systemd/resolve/stub-resolv.conf");
    expect(placeArguments([{ path: "/a", access: "write" }])).toEqual(["--bind", "/a", "/a"]);
    expect(placeArguments([{ path: "/b", access: "empty" }])).toEqual(["--tmpfs", "/b"]);
  });
});

describe("a path", () => {
  it("holds what is below it, itself included, and nothing else", () => {
    const name = fc.stringMatching(/^[a-z.]{1,4}$/).filter((part) => part !== "." && part !== "..");
    const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => `/${parts.join("/")}`);
    fc.assert(
      fc.property(path, path, (outer, inner) => {
        expect(holds(outer, inner)).toBe(inner === outer || inner.startsWith(`${outer}/`));
        expect(holds("/", inner)).toBe(true);
      }),
    );
  });
});

describe("a record", () => {
  it("says what confined its run, and one that was written before says nothing did", async () => {
    const { dispatcher, records, task } = bench([{ ...answering("done"), sandbox: async () => "bwrap" }]);
    const { id, sandbox } = await (await dispatcher.dispatch({ goal: "g" })).result;
    expect(sandbox).toBe("bwrap");
    const file = join(records, `${id}.json`);
    const { sandbox: _, ...row } = (JSON.parse(readFileSync(file, "utf8")) as { task: Record<string, unknown> }).task;
    const record = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
    writeFileSync(file, JSON.stringify({ ...record, task: row, version: 2 }));
    const other = bench([answering("done")], { parent: parentOf(task) }).dispatcher;
    expect((await other.get(id)).sandbox).toBeNull();
    expect(taskText(await other.get(id))).toContain(", not confined");
  });

  it("is listed with its sandbox where one of the shown has one", async () => {
    const { dispatcher } = bench([
      answering("done"),
      { ...answering("done"), name: "other", sandbox: async () => "bwrap" },
    ]);
    const free = await (await dispatcher.dispatch({ goal: "free" })).result;
    const confined = await (await dispatcher.dispatch({ goal: "confined", runner: "other" })).result;
    const options = { nowMs: Date.now(), ids: [free.id, confined.id] };
    expect(taskRows([free], options)[0]).not.toContain("sandbox");
    const [heading, first, second] = taskRows([free, confined], options);
    expect(heading).toMatch(/cost +sandbox +goal/);
    expect([first, second].map((row) => /(none|bwrap) +(free|confined)$/.exec(row ?? "")?.slice(1))).toEqual([
      ["none", "free"],
      ["bwrap", "confined"],
    ]);
  });
});
