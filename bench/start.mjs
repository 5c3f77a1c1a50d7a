// `npm run bench`: makes plain JavaScript of the benches and of the programs that they start, then runs them. A loader of
// TypeScript takes seconds of each start, and what it adds to every function would be measured too.
import { readFile } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const HERE = fileURLToPath(new URL("./", import.meta.url));
/** Inside the package, so that the libraries of its dependencies are found; program.ts knows it too. */
const BUILT = fileURLToPath(new URL("../node_modules/.cache/pi-token-budget-bench/", import.meta.url));

/** Each source still finds what lies beside it. */
const ownPlaces = {
  name: "own-places",
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      const url = JSON.stringify(pathToFileURL(path).href);
      return { contents: source.replaceAll("import.meta.url", url), loader: "ts" };
    });
  },
};

await build({
  entryPoints: [`${HERE}run.ts`, `${HERE}children/*.ts`],
  outdir: BUILT,
  outbase: HERE,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  splitting: true,
  packages: "external",
  format: "esm",
  platform: "node",
  plugins: [ownPlaces],
});
await import(`${pathToFileURL(BUILT).href}run.mjs`);
