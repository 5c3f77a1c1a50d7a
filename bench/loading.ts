// What loading costs before anything is done: an import of the launcher API, and Pi's load of the packed extension, with
// and without what Pi's loader has transformed before. Each in a process of its own, which says its own figure.
import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { makeEnvironment } from "../fixtures/pi/environment.ts";
import { type HostName, hostNamed, isInstalled } from "../fixtures/pi/hosts.ts";
import { installedDirectory } from "../fixtures/pi/installed.ts";
import type { Race } from "./measure.ts";

const DIST = fileURLToPath(new URL("../dist/", import.meta.url));
const HOSTS: readonly HostName[] = ["0.73.1", "1.6.0"];
const SAMPLES = 5;

/** Processor time of loading a module in a new process, in milliseconds. */
function loadMs(url: string): number {
  const code = `const c = process.cpuUsage(); await import(${JSON.stringify(url)}); const { user, system } = process.cpuUsage(c); console.log((user + system) / 1000); process.exit(0);`;
  return Number(execFileSync(process.execPath, ["--input-type=module", "-e", code], { encoding: "utf8" }));
}

/**
 * Two extensions around the one that is measured: the first takes the time, when what Pi's own start has left to do in the
 * background is done; the second says it and ends Pi.
 */
function clocks(folder: string): { readonly before: string; readonly after: string } {
  const [before, after] = [join(folder, "before.js"), join(folder, "after.js")];
  writeFileSync(
    before,
    `import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
export default async () => {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  await new Promise((resolve) => setTimeout(resolve, 200));
  globalThis.loadingStart = process.cpuUsage();
};
`,
  );
  const said = "const { user, system } = process.cpuUsage(globalThis.loadingStart);";
  const lines = [said, 'writeSync(1, "loading: " + (user + system) / 1000 + "\\n");', "process.exit(0);"];
  writeFileSync(
    after,
    `import { writeSync } from "node:fs";\nexport default () => {\n${lines.map((line) => `  ${line}\n`).join("")}};\n`,
  );
  return { before, after };
}

/** Processor time of Pi's own command line between those two, in milliseconds. */
function extensionMs(host: HostName, extension: string, folder: string, isCold: boolean): number {
  const { before, after } = clocks(folder);
  const { node, cli } = hostNamed(host);
  const environment = makeEnvironment();
  try {
    const printed = execFileSync(node, [cli, "-e", before, "-e", extension, "-e", after, "-p", "Begin."], {
      cwd: environment.home,
      // Where Pi's loader keeps what it has transformed; without it everything is transformed anew.
      env: { ...process.env, ...environment.variables, ...(isCold ? { JITI_FS_CACHE: "false" } : {}) },
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
    return Number(/^loading: (.*)$/m.exec(printed)?.[1]);
  } finally {
    environment.remove();
  }
}

export function loadingRaces(folder: string): Race[] {
  if (!existsSync(join(DIST, "api.js"))) throw new Error("dist/ is not there: npm run build");
  const nothing = join(folder, "empty.mjs");
  writeFileSync(nothing, "export {};\n");
  // As in a package of modules: Node itself loads them, and Pi's loader need not.
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }\n');
  const empty = join(folder, "empty.js");
  writeFileSync(empty, "export default () => {};\n");
  const own = join(installedDirectory(), "extension.js");
  const apiUrl = pathToFileURL(join(DIST, "api.js")).href;
  return [
    {
      name: "loading, import of the API",
      against: "an empty module",
      goal: 1,
      allowanceMs: 40,
      isFigure: true,
      ours: () => loadMs(apiUrl),
      reference: () => loadMs(pathToFileURL(nothing).href),
    },
    ...HOSTS.filter(isInstalled).flatMap((host) =>
      [false, true].map(
        (isCold): Race => ({
          name: `loading, the extension in Pi ${host}, ${isCold ? "nothing transformed before" : "transformed before"}`,
          against: "an extension of one empty function",
          goal: 1,
          allowanceMs: isCold ? 60 : 15,
          isFigure: true,
          samplesMin: SAMPLES,
          ours: () => extensionMs(host, own, folder, isCold),
          reference: () => extensionMs(host, empty, folder, isCold),
        }),
      ),
    ),
  ];
}
