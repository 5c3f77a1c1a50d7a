// Children under bubblewrap (Linux): the system to be read, the task's directory to be written, no home, no other process. The
// network and the keys of models are theirs: without those no model answers.
import { shownValue } from "../../errors.ts";
import { kindAt, realPathOf } from "../../storage/blobs.ts";
import { childPlaces, heldPrivate, holds, homeOf, type Place, programPlaces } from "./places.ts";
import { outcomeOf } from "./program.ts";
import { sandboxRefusal } from "./refusal.ts";
import type { Sandbox } from "./sandbox.ts";

const SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu"];
/** Where systems with a resolver of their own keep what /etc/resolv.conf leads to. */
const RESOLVER = "/etc/resolv.conf";
const TEMPORARY = "/tmp";

/**
 * No capabilities, and namespaces of its own: without one for processes, /proc would lead out. With the process that starts
 * it, it ends.
 */
const NAMESPACES = [
  ...["--die-with-parent", "--unshare-user", "--cap-drop", "ALL"],
  ...["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
];

function boundTry(path: string): readonly string[] {
  return ["--ro-bind-try", path, path];
}

/** The system without anything of a person. */
export function systemArguments(home: string, resolver: string = resolverOf()): readonly string[] {
  const folders = ["--proc", "/proc", "--dev", "/dev", "--tmpfs", TEMPORARY, "--tmpfs", home];
  const outside = resolver.startsWith("/etc/") ? [] : boundTry(resolver);
  return [...NAMESPACES, ...SYSTEM.flatMap(boundTry), ...folders, ...outside];
}

function resolverOf(): string {
  return kindAt(RESOLVER) === "missing" ? RESOLVER : realPathOf(RESOLVER);
}

export function placeArguments(places: readonly Place[]): readonly string[] {
  return places.flatMap(({ path, access }) => {
    if (access === "empty") return ["--tmpfs", path];
    return [access === "write" ? "--bind" : "--ro-bind", path, path];
  });
}

/** What is there already, and what would show a home as a whole. */
function isLeftOut(path: string, home: string): boolean {
  return holds(path, home) || (!holds(home, path) && SYSTEM.some((folder) => holds(folder, path)));
}

const refused = (problem: string, wayOut: string) => sandboxRefusal("bwrap", problem, wayOut);

const USER_NAMESPACES =
  "Have the kernel allow user namespaces (sysctl user.max_user_namespaces and kernel.unprivileged_userns_clone; on Ubuntu an AppArmor profile for bwrap; in a container its seccomp profile)";

/** bubblewrap, with more arguments of a person's: `--ro-bind /data /data`. */
export function bwrapSandbox(program: string, more: readonly string[]): Sandbox {
  return {
    name: "bwrap",
    async assertReady({ cwd, env }) {
      if (process.platform !== "linux") throw refused("bubblewrap is for Linux alone", "Use docker or podman");
      const held = heldPrivate(cwd, env);
      if (held !== undefined)
        throw refused(`the directory ${shownValue(cwd)} holds ${held}`, "Choose one that holds less");
      const outcome = await outcomeOf(program, [...systemArguments(homeOf(env)), ...more, "true"], env);
      if (outcome.type === "missing")
        throw refused(`there is no program ${shownValue(program)}`, "Install bubblewrap (apt install bubblewrap)");
      if (outcome.type === "failed") throw refused(`it does not work here (${outcome.said})`, USER_NAMESPACES);
    },
    enter(child) {
      const home = homeOf(child.env);
      const places = [...programPlaces(child, (path) => isLeftOut(path, home)), ...childPlaces(child)];
      const args = [
        ...systemArguments(home),
        ...placeArguments(places),
        ...["--setenv", "TMPDIR", TEMPORARY],
        ...more,
        ...["--chdir", child.cwd, child.program, ...child.args],
      ];
      return { program, args };
    },
  };
}
