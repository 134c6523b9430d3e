import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { imported as contenders } from "../contenders/index.ts";
import type { Figures } from "../measure/measures.ts";
import type { Stage, Workload } from "./workload.ts";

export const weight: Workload = {
  name: "weight",
  title: "Size and import time",
  description:
    "What a library adds to a program beside the Redis client, and how long a fresh process takes to import it, as it is " +
    "installed.",
  contenders,
  quickContenders: contenders.map(({ name }) => name),
  cases: [{ name: "a fresh process", nodes: 0, processes: 1, isQuick: true, run: weigh }],
  columns: ["gzipBytes", "importMs"],
  layout: "tables",
};

const run = promisify(execFile);
const app = fileURLToPath(new URL("../..", import.meta.url));
const root = fileURLToPath(new URL("../../../..", import.meta.url));

/** Clients, which the user has anyway. */
const external = ["ioredis", "redis", "@redis/client", "@valkey/valkey-glide"];

let built: Promise<unknown> | undefined;

async function weigh({ contender }: Stage): Promise<Figures> {
  // Ours as it is published, like the others.
  built ??= run("node_modules/.bin/tsc", ["--build", "packages/core"], { cwd: root });
  await built;
  return {
    gzipBytes: await sizeOf(contender.package as string),
    importMs: await importTimeOf(contender.package as string),
  };
}

async function sizeOf(name: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: `export * from "${name}"`, resolveDir: app },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "node",
    external,
    logLevel: "silent",
  });
  return gzipSync(outputFiles[0]?.contents ?? "", { level: 9 }).length;
}

async function importTimeOf(name: string): Promise<number> {
  const program = `const startMs = performance.now(); await import("${name}"); console.log(performance.now() - startMs)`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: app,
    timeout: 30_000,
  });
  return Number(stdout);
}
