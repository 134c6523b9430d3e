import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { isNightly } from "@holdfast/testkit";
import { describe, expect, it } from "vitest";
import { runExample } from "../src/index.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** Packages whose examples run without servers. Those of the others are in their READMEs, too, which are run. */
const runnable = [
  "core",
  "cron",
  "history",
  "membership",
  "memory",
  "nest",
  "opentelemetry",
  ...(isNightly ? ["simulation"] : []), // many worlds
  "web-locks",
];

/** What examples in doc comments may use without importing or defining it. */
const known: Readonly<Record<string, string>> = {
  Redlock: 'import { Redlock } from "@holdfast/core";',
  memoryNode: 'import { memoryNode } from "@holdfast/memory";',
  election: 'import { election } from "@holdfast/core/election";',
  redlock: `import { Redlock as KnownRedlock } from "@holdfast/core";
import { memoryNode as knownNode } from "@holdfast/memory";
const redlock = new KnownRedlock([knownNode(), knownNode(), knownNode()]);`,
};

/** Returns the code of the `@example` blocks in the sources of a package. */
async function examplesOf(folder: string): Promise<string[]> {
  const source = `${root}packages/${folder}/src/`;
  const names = (await readdir(source, { recursive: true })).filter((name) => name.endsWith(".ts"));
  const examples = await Promise.all(
    names.map(async (name) => {
      const comments = (await readFile(source + name, "utf8")).match(/@example[\s\S]*?(?=\n\s*\*\/|\n\s*\* @)/g) ?? [];
      return comments.map((comment) => codeOf(comment, `packages/${folder}/src/${name}`));
    }),
  );
  return examples.flat();
}

function codeOf(comment: string, where: string): string {
  const [, lines] = /^@example\n\s*\* ```ts\n([\s\S]*?)\s*\* ```$/.exec(comment) ?? [];
  if (lines === undefined) throw new Error(`${where}: an example is a single block of "ts", not ${comment}`);
  return lines.replace(/^\s*\* ?/gm, "");
}

/** Writes each example in the sources of a package as a module, where version control ignores it, and returns their paths. */
async function writeExamples(folder: string): Promise<string[]> {
  // The examples of the conformance suite use a client, which that package does not install.
  const reports = `${root}packages/${folder === "conformance" ? "ioredis" : folder}/reports/`;
  await mkdir(reports, { recursive: true });
  const examples = await examplesOf(folder);
  return Promise.all(
    examples.map(async (code, index) => {
      const has = (pattern: string) => new RegExp(pattern, "m").test(code);
      const missing = Object.keys(known).filter(
        (name) => has(`\\b${name}\\b`) && !has(`^import .*\\b${name}\\b|const ${name} =`),
      );
      const path = `${reports}doc-example-${folder}-${index}.ts`;
      await writeFile(path, [...missing.map((name) => known[name]), code, "export {};", ""].join("\n"));
      return path;
    }),
  );
}

/** Rejects with the output of the compiler if a module has type errors. */
async function checkTypes(files: readonly string[]): Promise<void> {
  const project = `${root}packages/core/reports/doc-examples.json`;
  const compilerOptions = { noUnusedLocals: false };
  await writeFile(
    project,
    JSON.stringify({ extends: `${root}tsconfig.json`, compilerOptions, files, include: [], references: [] }),
  );
  await promisify(execFile)(`${root}node_modules/.bin/tsc`, ["--project", project]).catch(
    (error: { stdout: string }) => {
      throw new Error(error.stdout);
    },
  );
}

async function publishedPackages(): Promise<string[]> {
  const folders = await readdir(`${root}packages`);
  const isPublished = async (folder: string) =>
    JSON.parse(await readFile(`${root}packages/${folder}/package.json`, "utf8")).private !== true;
  const published = await Promise.all(folders.map(isPublished));
  return folders.filter((_, index) => published[index]);
}

describe("the examples in doc comments", { timeout: 90_000 }, () => {
  it("have no type errors", async () => {
    const files = await Promise.all((await publishedPackages()).map(writeExamples));
    expect(files.filter((some) => some.length > 0).length).toBeGreaterThanOrEqual(12);
    await checkTypes(files.flat());
  });

  it.each(runnable)("run: %s", async (folder) => {
    const files = await writeExamples(folder);
    expect(files).not.toEqual([]);
    const program = files.map((file) => `await import(${JSON.stringify(file)});`).join("\n");
    await runExample(program, `${root}packages/${folder}`);
  });
});
