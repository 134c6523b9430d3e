import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { runProgram } from "@holdfast/testkit";
import { build } from "esbuild";
import { expect, onTestFinished, test } from "vitest";
import { startWorld } from "./world.ts";

const app = fileURLToPath(new URL("..", import.meta.url));

/** As it is built: what lets Node.js 20 load TypeScript does not reach its threads. */
async function buildProgram(): Promise<string> {
  const outfile = `${app}/reports/threads-and-processes-${process.pid}.mjs`; // not under version control
  await build({
    entryPoints: [`${app}/src/threads-and-processes.ts`],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    conditions: ["@holdfast/source"],
    external: ["ioredis"],
  });
  onTestFinished(() => rm(outfile));
  return outfile;
}

test("two processes with two threads each lose none of the counts that nothing but the lock protects", async () => {
  const [world, program] = [await startWorld(), await buildProgram()];
  const env = { LOCK_SERVERS: world.lockUrls, DATA_SERVER: world.dataUrl };
  const { code, out, err } = await runProgram(program, [], { cwd: app, env });
  expect(err).toBe("");
  expect(out).toBe("2 processes with 2 threads each counted to 100\n");
  expect(code).toBe(0);
  expect(await world.locksLeft()).toEqual([]);
});
