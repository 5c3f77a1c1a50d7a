// Makes dist/: core.cjs and the parts beside it (everything, with its libraries inlined; see parts.mjs); api.js and
// cjs/api.js (the launcher API for plain Node, by import and by require, of the one core); bundled.js (the same as a module,
// for programs that a bundler makes); plan.js and cjs/plan.js; acp.js (the command); parsing/ (the program of a worker); and
// the types, in types/ and for CommonJS in cjs/.
// It fails when the result would need anything at run time but Node itself, or when the types name a host package.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { isBuiltin } from "node:module";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { PartsBuild } from "./parts.mjs";

/** Not imported by name: a clone in which nothing is installed is told what to run. */
async function builders() {
  try {
    return { build: (await import("esbuild")).build, ts: (await import("typescript")).default };
  } catch (error) {
    if (error?.code !== "ERR_MODULE_NOT_FOUND") throw error;
    console.error("build: esbuild and typescript are not installed: run `npm ci` first.");
    process.exit(1);
  }
}

const { build, ts } = await builders();

const ROOT = fileURLToPath(new URL("../", import.meta.url)).replace(/[/\\]$/, "");
const DIST = join(ROOT, "dist");
/** Made here and put in place whole: another build, and whoever reads dist/, may go on beside this one. */
const MADE = join(ROOT, `.dist-${process.pid}`);
const API = join(ROOT, "api.ts");
const PLAN = join(ROOT, "src", "plan.ts");
const CJS = join(MADE, "cjs");
const ENTRY = `export { default, overflowJudge } from "./src/index.ts";
export * from "./api.ts";
export { part } from "./src/packed.ts";
`;
const HOST_PACKAGES = ["@mariozechner/*", "@earendil-works/*"];

const common = {
  bundle: true,
  platform: "node",
  target: "node20.6",
  external: HOST_PACKAGES,
  metafile: true,
  // What is read at each start is a quarter smaller, and its lines can still be named.
  minifyWhitespace: true,
  lineLimit: 160,
  absWorkingDir: ROOT,
  logLevel: "warning",
};

function fail(message) {
  throw new Error(`build: ${message}`);
}

/** Imports that stay imports must be Node's own modules. */
function checkExternals(metafile) {
  for (const [file, { imports }] of Object.entries(metafile.outputs)) {
    for (const { path, external } of imports) {
      if (external && !isBuiltin(path)) fail(`${file} imports ${path} at run time`);
    }
  }
}

/** Those of a part are the core besides, and what is inlined is in one part only: it may hold state. */
function checkParts(metafiles) {
  const seen = new Set();
  for (const { outputs, inputs } of metafiles) {
    for (const [file, { imports }] of Object.entries(outputs))
      for (const { path, external } of imports)
        if (external && !isBuiltin(path) && path !== "./core.cjs") fail(`${file} requires ${path} at run time`);
    for (const input of Object.keys(inputs).filter((path) => !/^(deferred|values|linked):/.test(path))) {
      if (seen.has(input)) fail(`${input} is in two parts`);
      seen.add(input);
    }
  }
}

/** The licences of what was inlined, as they ask for. */
function licences(metafile) {
  const folders = new Set();
  for (const file of Object.keys(metafile.inputs)) {
    const inside = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file);
    if (inside) folders.add(inside[1]);
  }
  const texts = [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(ROOT, folder, "package.json"), "utf8"));
    const file = readdirSync(join(ROOT, folder)).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file ? readFileSync(join(ROOT, folder, file), "utf8").trim() : `${license} licence`;
    return `${name} ${version}\n\n${text}\n`;
  });
  return texts.join(`\n${"-".repeat(72)}\n\n`);
}

/** core.cjs and the parts beside it, one of each source in all of them together. */
async function buildParts() {
  const parts = new PartsBuild({ build, root: ROOT, common: { ...common, charset: "utf8" } });
  const metafiles = await parts.write(MADE, ENTRY);
  checkParts(metafiles);
  const inputs = Object.assign({}, ...metafiles.map((metafile) => metafile.inputs));
  writeFileSync(join(MADE, "LICENSES.txt"), licences({ inputs }));
}

/** Names each export of api.ts, so that plain Node can import them from a CommonJS bundle, and require the same. */
async function buildApi() {
  const result = await build({ ...common, entryPoints: [API], outfile: "api.js", format: "esm", write: false });
  const names = Object.values(result.metafile.outputs)[0].exports;
  const line = names.length > 0 ? `export const { ${names.join(", ")} } = core;\n` : "export {};\n";
  // Not imported: of a CommonJS module that is, Node reads the whole text once more, to find its names.
  const core =
    'import { createRequire } from "node:module";\n\nconst core = createRequire(import.meta.url)("./core.cjs");\n';
  writeFileSync(join(MADE, "api.js"), `${core}${line}`);
  const lines = names.map((name) => `exports.${name} = core.${name};\n`).join("");
  writeFileSync(join(CJS, "api.js"), `"use strict";\nconst core = require("../core.cjs");\n\n${lines}`);
}

/** In libraries of CommonJS, `require` of Node's modules becomes an import: a module that was bundled has no `require`. */
const importedBuiltins = {
  name: "imported-builtins",
  setup({ onLoad }) {
    onLoad({ filter: /node_modules.*\.c?js$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replace(
        /\brequire\((["'])(?:node:)?([a-z_/]+)\1\)/g,
        (whole, _quote, name) => (isBuiltin(name) ? builtinName(name) : whole),
      ),
      loader: "js",
    }));
  },
};
const BUILTINS = ["assert", "constants", "dns", "events", "fs", "path", "stream", "util", "worker_threads"];

function builtinName(name) {
  if (!BUILTINS.includes(name)) fail(`a library requires ${name}, which bundled.js does not import`);
  return `__builtin_${name}`;
}

/** The API as one module, with no place of its own: what a bundler takes it into is not this package's folder. */
async function buildBundled() {
  const shim = join(MADE, "builtins.mjs");
  const lines = BUILTINS.map(
    (name) => `import ${builtinName(name)} from "node:${name}";\nexport { ${builtinName(name)} };\n`,
  );
  writeFileSync(shim, lines.join(""));
  const result = await build({
    ...common,
    entryPoints: [API],
    outfile: join(MADE, "bundled.js"),
    format: "esm",
    charset: "utf8",
    // A library makes names of temporary files from its own.
    define: { "import.meta.url": "undefined", __filename: '"pi-token-budget/bundled.js"' },
    inject: [shim],
    plugins: [importedBuiltins],
  });
  rmSync(shim);
  checkExternals(result.metafile);
  // The shim's place is told in a comment.
  const text = readFileSync(join(MADE, "bundled.js"), "utf8").replaceAll(basename(MADE), "dist");
  writeFileSync(join(MADE, "bundled.js"), text);
  const missing = /\b__require\d*\(["'][^)]*\)|\b__(?:filename|dirname)\b/.exec(text);
  if (missing) fail(`bundled.js has ${missing[0]}, which a module has not`);
}

async function buildPlan() {
  await build({ ...common, entryPoints: [PLAN], outfile: join(MADE, "plan.js"), format: "esm" });
  await build({ ...common, entryPoints: [PLAN], outfile: join(CJS, "plan.js"), format: "cjs" });
}

/** The command pi-token-budget-acp, which needs nothing of the rest. */
async function buildCommand() {
  const outfile = join(MADE, "acp.js");
  const banner = { js: "#!/usr/bin/env node" };
  const entryPoints = [join(ROOT, "src", "acp", "main.ts")];
  const result = await build({ ...common, entryPoints, outfile, format: "esm", charset: "utf8", banner });
  checkExternals(result.metafile);
  chmodSync(outfile, 0o755);
}

/** The program of the parsing worker, which Node runs from a file of its own; its libraries are optional, so they stay outside. */
async function buildParsing() {
  const entryPoints = [join(ROOT, "src", "extract", "parsing", "program.mjs")];
  const outfile = join(MADE, "parsing", "program.mjs");
  const result = await build({ ...common, entryPoints, outfile, format: "esm", charset: "utf8", packages: "external" });
  const { optionalDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  for (const { imports } of Object.values(result.metafile.outputs))
    for (const { path } of imports)
      if (!isBuiltin(path) && !Object.hasOwn(optionalDependencies, path)) fail(`the parsing worker imports ${path}`);
}

const SPECIFIER = /(from\s+|import\s*\(\s*|import\s+|declare module\s+)(["'])([^"']+)\2/g;

/** The declaration files that api.d.ts needs, none of which may need Node's own, with import names every TypeScript understands. */
function keepReachable(types) {
  const kept = new Map();
  const visit = (file) => {
    if (kept.has(file)) return;
    const source = readFileSync(file, "utf8");
    kept.set(
      file,
      source.replace(SPECIFIER, (whole, before, quote, name) => {
        if (name.startsWith(".")) return `${before}${quote}${name.replace(/\.ts$/, ".js")}${quote}`;
        return whole;
      }),
    );
    for (const [, , , name] of source.matchAll(SPECIFIER)) {
      if (!name.startsWith(".")) fail(`the types of ${relative(types, file)} name ${name}`);
      visit(resolve(dirname(file), name.replace(/\.[jt]s$/, ".d.ts")));
    }
  };
  for (const entry of ["api.d.ts", "src/plan.d.ts"]) visit(join(types, entry));
  rmSync(types, { recursive: true });
  // Below cjs/ they are the types of CommonJS modules.
  for (const folder of [types, CJS]) {
    for (const [file, source] of kept) {
      const target = join(folder, relative(types, file));
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, source);
    }
  }
}

function buildTypes() {
  const { config, error } = ts.readConfigFile(join(ROOT, "tsconfig.json"), ts.sys.readFile);
  if (error) fail(ts.flattenDiagnosticMessageText(error.messageText, "\n"));
  const { options } = ts.parseJsonConfigFileContent(
    { ...config, include: [], files: ["api.ts", "src/plan.ts"] },
    ts.sys,
    ROOT,
  );
  const types = join(MADE, "types");
  const emit = { noEmit: false, declaration: true, emitDeclarationOnly: true, rootDir: ROOT, outDir: types };
  const program = ts.createProgram([API, PLAN], { ...options, ...emit });
  const diagnostics = [...ts.getPreEmitDiagnostics(program), ...program.emit().diagnostics];
  if (diagnostics.length > 0) {
    fail(
      ts.formatDiagnostics(diagnostics, {
        getCanonicalFileName: (f) => f,
        getCurrentDirectory: () => ROOT,
        getNewLine: () => "\n",
      }),
    );
  }
  keepReachable(types);
}

/** Whether dist/ is younger than everything it is made of: the types, which are written last, tell. */
function isFresh() {
  const types = join(DIST, "types", "api.d.ts");
  if (!existsSync(types)) return false;
  const sources = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" });
  const made = [
    ".ci/build.mjs",
    ".ci/parts.mjs",
    "api.ts",
    "package.json",
    ...sources.map((name) => join("src", name)),
  ];
  const builtMs = statSync(types).mtimeMs;
  return made.every((path) => statSync(join(ROOT, path)).mtimeMs < builtMs);
}

// Several tests ask for it at a time: none takes away what another one reads.
if (isFresh()) process.exit(0);

/** The build that comes second leaves what the first has put there. */
function putInPlace() {
  if (isFresh()) return;
  const old = `${MADE}-old`;
  try {
    renameSync(DIST, old);
  } catch {
    // There was none.
  }
  try {
    renameSync(MADE, DIST);
  } catch (error) {
    if (!isFresh()) throw error;
  }
  rmSync(old, { recursive: true, force: true });
}

try {
  mkdirSync(CJS, { recursive: true });
  writeFileSync(join(CJS, "package.json"), '{ "type": "commonjs" }\n');
  await buildParts();
  await buildApi();
  await buildBundled();
  await buildPlan();
  await buildCommand();
  await buildParsing();
  buildTypes();
  if (!existsSync(join(MADE, "types", "api.d.ts"))) fail("no types");
  putInPlace();
} catch (error) {
  // What another build has put there meanwhile stays.
  if (!isFresh()) rmSync(DIST, { recursive: true, force: true });
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  rmSync(MADE, { recursive: true, force: true });
}
