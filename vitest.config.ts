// Two suites: `unit` runs once; `hosts` opens real Pi sessions and runs on every host (PI_TEST_HOST, see test/run.mjs).
import { defineConfig } from "vitest/config";
import { currentHostName, hostNamed } from "./fixtures/pi/hosts.ts";

const HOST_MODULES = ["pi-coding-agent", "pi-ai", "pi-agent-core", "pi-tui"];

/** Our sources import the oldest scope's names, as they do in Pi, whose loader maps them to the host's own modules. */
function hostAliases() {
  if (currentHostName() === "0.73.1") return [];
  const { root } = hostNamed(currentHostName());
  return HOST_MODULES.map((name) => ({
    find: new RegExp(`^@mariozechner/${name}$`),
    replacement: `${root}/${name}/dist/index.js`,
  }));
}

const SECOND_MS = 1_000;

export default defineConfig({
  resolve: { alias: hostAliases() },
  test: {
    pool: "forks",
    // Runs side by side fill the cores (test/run.mjs). Here, since projects do not take it from the command line.
    maxWorkers: 1,
    setupFiles: ["./fixtures/pi/setup.ts"],
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["test/hosts/**"],
          isolate: false,
          testTimeout: 60 * SECOND_MS,
          hookTimeout: 60 * SECOND_MS,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: "hosts",
          include: ["test/hosts/**/*.test.ts"],
          // Most of a file's time would go into loading Pi once more. Each file has an environment of its own (setup.ts).
          isolate: false,
          testTimeout: 240 * SECOND_MS,
          hookTimeout: 240 * SECOND_MS,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
