import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const packageFolder = fileURLToPath(new URL("../..", import.meta.url));

/** What is no ES module asks for Node's own modules by `require()`. */
const banner =
  'import { createRequire as requireFrom } from "node:module";\nconst require = requireFrom(import.meta.url);';

/**
 * Bundles the program from source once for all tests, and what it depends on: most of the time that a program takes to start
 * goes into compiling and finding files. It stands one folder deep in the package, as the built one does.
 */
export default async function bundle(): Promise<void> {
  await build({
    entryPoints: [`${packageFolder}src/main.ts`],
    outfile: `${packageFolder}reports/holdfast.js`,
    bundle: true,
    conditions: ["@holdfast/source"],
    external: ["log-update"], // as it is loaded only where it is needed
    banner: { js: banner },
    format: "esm",
    platform: "node",
    target: "es2022",
    logLevel: "warning",
  });
}
