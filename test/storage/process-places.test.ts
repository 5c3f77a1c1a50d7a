// What has become of a process by what the system says of the place where it ran. Linux alone says it.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type DiskCalls, NODE_DISK } from "../../src/storage/disk.ts";
import type { ProcessPlace } from "../../src/storage/process-place.ts";
import { type Fate, fateOf, thisPlace, thisProcess } from "../../src/storage/processes.ts";
import { errnoError, temporaryDirectory, watchedDisk } from "./disks.ts";

const onLinux = test.runIf(process.platform === "linux");

/** The id of a process that has ended, and its start. */
function ended() {
  const { pid } = spawnSync(process.execPath, ["-e", ""]);
  return { pid, start: "another:1" };
}

/** A disk on which this machine has the given ids. */
function machineWith(ids: { readonly boot?: string; readonly machine?: string }): DiskCalls {
  const folder = temporaryDirectory();
  const files: Record<string, string> = {};
  const put = (path: string, content: string | undefined) => {
    if (content === undefined) return;
    files[path] = join(folder, path.replaceAll("/", "_"));
    writeFileSync(files[path], `${content}\n`);
  };
  put("/proc/sys/kernel/random/boot_id", ids.boot);
  put("/etc/machine-id", ids.machine);
  const openSync: DiskCalls["openSync"] = (path, ...rest) => NODE_DISK.openSync(files[String(path)] ?? path, ...rest);
  return { ...NODE_DISK, openSync };
}

function here(disk?: DiskCalls): ProcessPlace {
  const place = thisPlace(disk);
  if (!place) throw new Error("the system does not say where processes run");
  return place;
}

onLinux("this place is one of this machine's, the same at every look", () => {
  expect(here()).toEqual(here());
  expect(here().pids).toMatch(/^pid:\[\d+\]$/);
  expect(here().boot).toMatch(/^[0-9a-f-]{36}$/);
});

onLinux.each<[string, Partial<ProcessPlace>, Fate]>([
  ["here", {}, "gone"],
  ["in a container of this machine", { pids: "pid:[1]" }, "unknown"],
  ["on another machine", { host: "elsewhere", machine: "other", boot: "other" }, "unknown"],
  ["on a machine with another name", { host: "elsewhere" }, "unknown"],
  ["before this machine was started anew", { boot: "earlier" }, "gone"],
  ["before that, in a container of it", { boot: "earlier", pids: "pid:[1]" }, "gone"],
  ["on another machine of the same name", { boot: "other", machine: "other" }, "unknown"],
  ["on a machine of the same name that says no more", { boot: "other", machine: null }, "unknown"],
])("a process that is not to be seen and ran %s", (_name, change, fate) => {
  const disk = machineWith({ boot: "this boot", machine: "this machine" });
  expect(fateOf(ended(), { ...here(disk), ...change }, disk)).toBe(fate);
});

onLinux("a process that is to be seen runs, wherever it says that it is", () => {
  const { pid } = thisProcess();
  for (const place of [undefined, { ...here(), host: "elsewhere" }, { ...here(), boot: "earlier" }])
    expect(fateOf({ pid, start: null }, place)).toBe("running");
});

onLinux("where a machine has no id of its own, another start of it is another machine", () => {
  const disk = machineWith({ boot: "this boot", machine: "" });
  expect(here(disk).machine).toBeNull();
  expect(fateOf(ended(), { ...here(disk), boot: "earlier" }, disk)).toBe("unknown");
});

test("nobody knows of a process whose place is not known, nor from where the system says nothing", () => {
  expect(fateOf(ended(), undefined)).toBe("unknown");
  const silent = watchedDisk((call, path) => {
    if (path.startsWith("/proc/")) throw errnoError("EACCES", call);
  });
  expect(thisPlace(silent)).toBeUndefined();
  const place = { host: "h", machine: "m", boot: "b", pids: "p" };
  expect(fateOf(ended(), place, silent)).toBe("unknown");
});

/** A process in a set of ids of its own, as a container has it; not every system lets one be made. */
function inContainer(script: string) {
  const args = ["-Urpf", "--mount-proc", process.execPath, "--import", "tsx", "-e", script];
  return spawnSync("unshare", args, { encoding: "utf8" });
}

const CAN_CONTAIN = spawnSync("unshare", ["-Urpf", "--mount-proc", "true"]).status === 0;

test.runIf(CAN_CONTAIN)(
  "a real process in another set of ids is out of sight, while it runs and when it has ended",
  () => {
    const file = new URL("../../src/storage/processes.ts", import.meta.url);
    const { stdout, stderr } = inContainer(
      `import(${JSON.stringify(file.href)}).then(({ thisPlace, thisProcess, fateOf }) => {
      const [place, name] = [thisPlace(), thisProcess()];
      const outside = ${JSON.stringify({ place: here(), name: ended() })};
      console.log(JSON.stringify({ place, name, own: fateOf(name, place), outside: fateOf(outside.name, outside.place) }));
    })`,
    );
    expect(stderr).toBe("");
    const told = JSON.parse(stdout);
    expect(told).toMatchObject({ own: "running", outside: "unknown" });
    expect(told.place).toMatchObject({ host: here().host, boot: here().boot });
    expect(told.place.pids).not.toBe(here().pids);
    expect(fateOf(told.name, told.place)).toBe("unknown");
  },
);
