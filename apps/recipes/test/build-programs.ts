import { readdir } from "node:fs/promises";
import { dirname, join, parse } from "node:path";
import { build } from "esbuild";
import { app, builtProgram } from "./programs.ts";

/**
 * Builds the programs that tests start as processes. They start in a third of the time, and the TypeScript loader does not
 * work in threads of Node.js 20.
 */
export async function setup(): Promise<void> {
  const fixtures = await readdir(join(app, "test/fixtures"));
  const paths = [...fixtures.map((file) => `test/fixtures/${file}`), "src/threads-and-processes.ts"];
  await build({
    absWorkingDir: app,
    entryPoints: paths.map((path) => ({ in: path, out: parse(path).name })),
    outdir: dirname(builtProgram("any")),
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    conditions: ["@holdfast/source"],
    external: ["ioredis"],
  });
}
