import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { bundleProgram } from "../src/bundle-program.ts";

async function outputOf(name: string, code: string): Promise<string> {
  const bundle = await bundleProgram(join(import.meta.dirname, name), code);
  onTestFinished(() => rm(bundle));
  return (await promisify(execFile)(process.execPath, [bundle])).stdout;
}

test("bundleProgram() bundles workspace packages, and lets files be found beside the source", async () => {
  const code = `import { Redlock } from "@holdfast/core";
    import pg from "pg";
    console.log(typeof Redlock, typeof pg.Pool, new URL("./near.sql", import.meta.url).href);`;
  const near = new URL("./near.sql", import.meta.url).href;
  expect(await outputOf("imports.ts", code)).toBe(`function function ${near}\n`);
});

test("bundleProgram() lets a program import packages by computed names, as its package does", async () => {
  const code = `const name = ["p", "g"].join(""); console.log(typeof (await import(name)).default.Pool);`;
  expect(await outputOf("computed.ts", code)).toBe("function\n");
});

test("bundleProgram() rejects an import that the package of the program does not declare", async () => {
  await expect(outputOf("undeclared.ts", 'import "ioredis";')).rejects.toThrow('Could not resolve "ioredis"');
});
