// The parts of the packed form. core.cjs is all that an import of the API, or Pi's load of the extension, reads; each other
// part is a file beside it that is read when something in it is first used. Sources import each other as always: here an
// import that leads into a part that may not be there yet becomes one that waits until a name of it is used, as
// `import defer` will. So nothing becomes asynchronous, and no order changes.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";

const CORE = "core";

/** Which part a source belongs to: the first whose pattern fits. `session` is read when a session starts. */
const PARTS = [
  ["dispatch", /^src\/(dispatch\/|extract\/|wire\/dispatcher\.ts|host\/sdk\.ts)/],
  ["reader", /^src\/(reader\/|wire\/plain-program\.ts)/],
  [
    "people",
    /^src\/(doctor\/|wire\/(doctor|forget|task-tool)\.ts|ui\/(agents|context|notes|windows|task-(acts|arguments|rows|save|text)|tasks-arguments|running-tasks)\.ts)/,
  ],
  ["acp", /^src\/(acp\/publisher|todo\/plan)\.ts/],
  // What the core would only hold until a session starts.
  ["session", /^src\/(host\/(entries|compaction)|ui\/(columns|todo-lines|status)|(similar|figures))\.ts/],
  [
    CORE,
    /^src\/((wire|host|ui)\/|(index|extension|packed|errors|options|shapes|launcher|settings|settings-schema|settings-values|settings-layers|schema|schema-check)\.ts)/,
  ],
  [CORE, /^src\/(tools\/(specs|define|todo)|todo\/list|acp\/wire|category\/guard)\.ts/],
  [CORE, /^src\/(packages\/(own|found|host)|task\/(context|joining)|storage\/disk)\.ts/],
  ["session", /^src\//],
];
const NAMES = [...new Set(PARTS.map(([part]) => part))];
/** Those that are read before any other: what is asked of them is there. */
const BASE = [CORE, "session"];

/** In the files, until the name of the build is known. */
const BUILD = "__build__";

const partOf = (source) => PARTS.find(([, pattern]) => pattern.test(source))?.[0];
const fileOf = (part) => (part === CORE ? "core.cjs" : `${part}-${BUILD}.cjs`);

/** Whether one part is there whenever another one is. */
function isBelow(one, other) {
  const [lower, upper] = [BASE.indexOf(one), BASE.indexOf(other)];
  return lower !== -1 && (upper === -1 || lower < upper);
}

function banner(part) {
  return [
    'const __own = { get url() { return require("node:url").pathToFileURL(__filename).href; } };',
    ...(part === CORE
      ? [
          `const __requirePart = (name) => require(\`./\${name}-${BUILD}.cjs\`);`,
          "const __part = (name) => module.exports.part(name);",
        ]
      : ['const __part = require("./core.cjs").part;']),
  ].join("\n");
}

const finding = (part, source) => `let found;\nconst the = () => (found ??= __part("${part}")["${source}"]);\n`;

/** A name that begins small is a function's, which may be handed on without a call. */
const isFunction = (name) => /^[a-z]/.test(name);

/** A module in the place of one that may not be there yet. */
function deferred(part, source, { names, asyncNames }) {
  const functions = names.filter(isFunction).map((name) => {
    const call = `return the().${name}(...args);`;
    const body = asyncNames.has(name) ? `try { ${call} } catch (error) { return Promise.reject(error); }` : call;
    return `export function ${name}(...args) { ${body} }\n`;
  });
  const values = names.filter((name) => !isFunction(name));
  const others = values.length > 0 ? `export { ${values.join(", ")} } from "values:${source}";\n` : "";
  return `${finding(part, source)}${functions.join("")}${others}`;
}

/** What else it exports, which is found at each use. */
function values(part, source, { names }) {
  const members = names.filter((name) => !isFunction(name)).map((name) => `get ${name}() { return the().${name}; }`);
  return `${finding(part, source)}module.exports = {\n${members.join(",\n")}\n};\n`;
}

/** A module in the place of one that is there. */
function linked(part, source, { names }) {
  const from = part === CORE ? 'require("./core.cjs").modules' : `__part("${part}")`;
  return [
    `const found = ${from}["${source}"];`,
    ...names.map((name) => `const own_${name} = found.${name};\nexport { own_${name} as ${name} };`),
  ].join("\n");
}

export class PartsBuild {
  #options;
  /** Source → what it exports. */
  #exports = new Map();
  /** Part → the sources that other parts ask of it. */
  #asked = new Map(NAMES.map((part) => [part, new Set()]));

  /** `build` is esbuild's, `common` its options for every part. */
  constructor(options) {
    this.#options = options;
  }

  /** Writes the files; `entry` is the text of the core's. Answers the metafiles. */
  async write(folder, entry) {
    let built = [];
    // What a part asks of the others is known when it has been built.
    for (let before = -1; before !== this.#askedOf(); ) {
      before = this.#askedOf();
      built = await Promise.all(NAMES.map((part) => this.#made(part, part === CORE ? entry : "")));
    }
    const hash = createHash("sha256");
    for (const { text } of built) hash.update(text);
    const name = hash.digest("hex").slice(0, 10);
    for (const { file, text } of built)
      writeFileSync(join(folder, file.replace(BUILD, name)), text.replaceAll(BUILD, name));
    return built.map(({ metafile }) => metafile);
  }

  #askedOf() {
    return [...this.#asked.values()].reduce((sum, sources) => sum + sources.size, 0);
  }

  async #made(part, entry) {
    const { build, root, common } = this.#options;
    const asked = [...this.#asked.get(part)].sort();
    const imports = asked.map((source, at) => `import * as m${at} from "./${source}";\n`);
    const rows = asked.map((source, at) => `  "${source}": m${at},\n`);
    const contents = `${entry}${imports.join("")}export const modules = {\n${rows.join("")}};\n`;
    const file = fileOf(part);
    const { outputFiles, metafile } = await build({
      ...common,
      stdin: { contents, resolveDir: root, sourcefile: `${part}.ts`, loader: "ts" },
      outfile: file,
      write: false,
      format: "cjs",
      define: { "import.meta.url": "__own.url" },
      banner: { js: banner(part) },
      plugins: [this.#bounds(part)],
    });
    return { file, metafile, text: outputFiles[0].text };
  }

  /** Imports that lead out of a part. */
  #bounds(part) {
    const { root } = this.#options;
    const contentsOf = (make) => async (args) => ({
      contents: make(partOf(args.path), args.path, await this.#exportsOf(args.path)),
      loader: "js",
      resolveDir: root,
    });
    return {
      name: "parts",
      setup: ({ onResolve, onLoad }) => {
        onResolve({ filter: /^\..*\.ts$/, namespace: "file" }, ({ path, resolveDir }) => {
          const source = relative(root, join(resolveDir, path)).split(sep).join("/");
          const other = partOf(source);
          if (other === undefined || other === part) return undefined;
          this.#asked.get(other).add(source);
          return { path: source, namespace: isBelow(other, part) ? "linked" : "deferred", sideEffects: false };
        });
        onResolve({ filter: /^values:/ }, ({ path }) => ({
          path: path.replace("values:", ""),
          namespace: "values",
          sideEffects: false,
        }));
        onResolve({ filter: /^\.\/core\.cjs$/ }, ({ path }) => ({ path, external: true }));
        onLoad({ filter: /.*/, namespace: "deferred" }, contentsOf(deferred));
        onLoad({ filter: /.*/, namespace: "values" }, contentsOf(values));
        onLoad({ filter: /.*/, namespace: "linked" }, contentsOf(linked));
      },
    };
  }

  async #exportsOf(source) {
    const known = this.#exports.get(source);
    if (known) return known;
    const { build, root } = this.#options;
    const path = join(root, source);
    const options = { outfile: "names.js", write: false, metafile: true, format: "esm", absWorkingDir: root };
    const { metafile } = await build({ ...options, entryPoints: [path] });
    const asyncNames = [...readFileSync(path, "utf8").matchAll(/^export async function (\w+)/gm)].map(
      ([, name]) => name,
    );
    const found = { names: Object.values(metafile.outputs)[0].exports, asyncNames: new Set(asyncNames) };
    this.#exports.set(source, found);
    return found;
  }
}
