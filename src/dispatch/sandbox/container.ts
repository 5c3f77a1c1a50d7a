// Children in a container of docker or podman: the image has the system, Node and Pi; the task's directory, its part of the
// root task and this package are put into it under their own paths.
import { basename } from "node:path";
import { shownValue } from "../../errors.ts";
import { agentDirectory } from "../../host/agent-dir.ts";
import { childPlaces, heldPrivate, homeOf, type Place } from "./places.ts";
import { outcomeOf } from "./program.ts";
import { sandboxRefusal } from "./refusal.ts";
import type { ChildProcess, Sandbox } from "./sandbox.ts";
import { quoted } from "./shell.ts";

/** A field of the engines' list of comma-separated values. */
function field(name: string, value: string): string {
  const text = `${name}=${value}`;
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function mountOf({ path, access }: Place): readonly string[] {
  if (access === "empty") return ["--tmpfs", path];
  const fields = [
    "type=bind",
    field("source", path),
    field("target", path),
    ...(access === "read" ? ["readonly"] : []),
  ];
  return ["--mount", fields.join(",")];
}

/** Files that it makes belong to the person. */
function personArguments(engine: string): readonly string[] {
  if (basename(engine) === "podman") return ["--userns", "keep-id"];
  const [user, group] = [process.getuid?.(), process.getgid?.()];
  return user === undefined ? [] : ["--user", `${user}:${group}`];
}

export function containerName({ taskId }: Pick<ChildProcess, "taskId">): string {
  return `pi-task-${taskId}`;
}

/** `more` are the engine's own options, the image last. */
export function containerArguments(engine: string, more: readonly string[], child: ChildProcess): readonly string[] {
  const home = homeOf(child.env);
  return [
    ...["run", "--rm", "--interactive", "--init", "--name", containerName(child)],
    ...["--cap-drop", "ALL", "--security-opt", "no-new-privileges", ...personArguments(engine)],
    ...["--tmpfs", home, "--env", `HOME=${home}`, "--env", `PI_CODING_AGENT_DIR=${agentDirectory(child.env)}`],
    ...childPlaces(child).flatMap(mountOf),
    ...["--workdir", child.cwd, ...more, child.program, ...child.args],
  ];
}

/** docker or podman, with options of a person's and the image: `-e SOME_API_KEY some-image`. */
export function containerSandbox(engine: string, more: readonly string[]): Sandbox {
  const kind = basename(engine);
  const image = more.at(-1);
  return {
    name: kind,
    pi: ["pi"],
    async assertReady({ cwd, env, program }) {
      const refused = (problem: string, wayOut: string) => sandboxRefusal(kind, problem, wayOut);
      if (image === undefined || image.startsWith("-"))
        throw refused("no image", `Name the image last, as ["${kind}", "some-image"]`);
      const held = heldPrivate(cwd, env);
      if (held !== undefined)
        throw refused(`the directory ${shownValue(cwd)} holds ${held}`, "Choose one that holds less");
      const look = ["run", "--rm", "--entrypoint", "sh", ...more, "-c", `command -v ${quoted(program)}`];
      const outcome = await outcomeOf(engine, look, env);
      if (outcome.type === "missing") throw refused(`there is no program ${shownValue(engine)}`, `Install ${kind}`);
      if (outcome.type === "failed")
        throw refused(
          `no container of ${shownValue(image)} with the program ${shownValue(program)} can be run (${outcome.said})`,
          "Start the engine, and choose an image that has Node and Pi",
        );
    },
    enter: (child) => ({
      program: engine,
      args: containerArguments(engine, more, child),
      // The engine runs it on when its own client is killed.
      leave: async () => void (await outcomeOf(engine, ["rm", "--force", containerName(child)], child.env)),
    }),
  };
}
