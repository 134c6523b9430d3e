import { readdir, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";

const packageFolder = fileURLToPath(new URL("../..", import.meta.url));

/** CommonJS dependencies load Node's own modules by `require()`. */
const banner =
  'import { createRequire as requireFrom } from "node:module";\nconst require = requireFrom(import.meta.url);';

/** The names that the program takes from CommonJS packages on demand. A bundle in several files does not find these names itself. */
const names: Readonly<Record<string, string>> = { ioredis: "Redis" };
const namedExports: Plugin = {
  name: "named exports",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: new RegExp(`^(${Object.keys(names).join("|")})$`) }, ({ path, kind, resolveDir }) =>
      kind === "dynamic-import" ? { path, namespace: "names", pluginData: resolveDir } : undefined,
    );
    onLoad({ filter: /./, namespace: "names" }, ({ path, pluginData }) => ({
      contents: `export { ${names[path]} } from "${path}";`,
      resolveDir: pluginData,
    }));
  },
};

/**
 * Bundles the program and its dependencies from source once for all tests, because most of the start-up time goes into
 * finding and compiling files. Modules that are loaded on demand get files of their own, so that a process compiles
 * only those that it uses. The bundle is one folder deep in the package, like the built program.
 */
export default async function bundle(): Promise<void> {
  const reports = `${packageFolder}reports`;
  const former = (await readdir(reports).catch(() => [])).filter((name) => name.startsWith("holdfast"));
  await Promise.all(former.map((name) => rm(`${reports}/${name}`)));
  await build({
    entryPoints: { holdfast: `${packageFolder}src/main.ts` },
    outdir: reports,
    chunkNames: "holdfast-[name]-[hash]",
    bundle: true,
    splitting: true,
    conditions: ["@holdfast/source"],
    plugins: [namedExports],
    external: ["mysql2", "pg"], // loaded on demand
    banner: { js: banner },
    format: "esm",
    platform: "node",
    target: "es2022",
    logLevel: "warning",
  });
}
