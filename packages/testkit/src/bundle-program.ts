import { existsSync } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type BuildOptions, build, type Plugin } from "esbuild";

const bundles = new Map<string, Promise<string>>();

/**
 * Bundles a TypeScript program with the workspace packages that it imports, from source, and returns the path of the
 * bundle, for Node.js. It starts in a third of the time that a TypeScript loader takes. This process bundles a program once.
 *
 * @param program the absolute path or the URL of the program
 * @param code the code of the program, if there is no such file
 */
export function bundleProgram(program: string | URL, code?: string): Promise<string> {
  const path = program instanceof URL ? fileURLToPath(program) : program;
  const bundle = bundles.get(path) ?? write(path, code);
  bundles.set(path, bundle);
  return bundle;
}

async function write(path: string, code: string | undefined): Promise<string> {
  // In its package, because some packages are imported by computed names, and one folder deep.
  const home = packageOf(path);
  const bundle = join(home, "reports", `${relative(home, path).replaceAll("/", "-")}.mjs`); // ignored by git
  await mkdir(dirname(bundle), { recursive: true }); // code may be resolved from there
  const entry: BuildOptions =
    code === undefined
      ? { entryPoints: [path] }
      : {
          stdin: { contents: withSourceUrl(path, code), resolveDir: dirname(path), sourcefile: path, loader: "ts" },
          tsconfigRaw: { compilerOptions: { experimentalDecorators: true } }, // no tsconfig.json applies to this code
        };
  const { outputFiles } = await build({
    ...entry,
    write: false,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    conditions: ["@holdfast/source"],
    ignoreAnnotations: true, // like Node.js, evaluate all imports
    plugins: [foreignPackagesOutside, sourceUrls],
    logLevel: "silent",
  });
  // Other processes may bundle the same program, or be starting it.
  await writeFile(`${bundle}.${process.pid}`, outputFiles[0]?.contents ?? "");
  await rename(`${bundle}.${process.pid}`, bundle);
  return bundle;
}

function packageOf(path: string): string {
  const folder = dirname(path);
  if (folder === dirname(folder)) throw new Error("a program is in the folder of a package");
  return existsSync(join(folder, "package.json")) ? folder : packageOf(folder);
}

/** Leaves the packages of others where the importing source finds them. */
const foreignPackagesOutside: Plugin = {
  name: "foreign packages outside",
  setup({ onResolve, resolve }) {
    onResolve({ filter: /^[^./]/ }, async ({ path, pluginData, ...where }) => {
      if (pluginData === "resolving") return undefined;
      const found = await resolve(path, { ...where, pluginData: "resolving" });
      return found.path.includes("/node_modules/") ? { path: found.path, external: true } : found;
    });
  },
};

/** Lets modules find files beside their source. */
const sourceUrls: Plugin = {
  name: "source URLs",
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => ({
      contents: withSourceUrl(path, await readFile(path, "utf8")),
      loader: "ts",
    }));
  },
};

function withSourceUrl(path: string, code: string): string {
  return code.replaceAll(/(?<=new URL\([^()]+, )import\.meta\.url/g, JSON.stringify(pathToFileURL(path)));
}
