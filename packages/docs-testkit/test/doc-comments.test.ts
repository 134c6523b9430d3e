import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { runExample } from "../src/index.ts";

const core = fileURLToPath(new URL("../../core/", import.meta.url));

/** The imports and variables that every example in a doc comment may use. */
const preamble = `
import { Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
const shared = new Redlock([memoryNode(), memoryNode(), memoryNode()]);
`;

/** Returns one program of all `@example` blocks in the sources of core and memory, each in a scope of its own. */
async function programOfExamples(): Promise<string> {
  const imports: string[] = [];
  const scopes: string[] = [];
  for (const source of await sources()) {
    for (const [, lines = ""] of source.matchAll(/@example\n\s*\* ```ts\n([\s\S]*?)\s*\* ```/g)) {
      const code = lines.replace(/^\s*\* ?/gm, "").replace(/^import .*$/gm, (line) => {
        imports.push(line);
        return "";
      });
      const ownsRedlock = code.includes("const redlock =");
      scopes.push(`await (async () => {\n${ownsRedlock ? "" : "const redlock = shared;\n"}${code}\n})();`);
    }
  }
  expect(scopes.length).toBeGreaterThanOrEqual(16);
  return [preamble, ...new Set(imports), ...scopes].join("\n");
}

async function sources(): Promise<string[]> {
  const folders = [`${core}src/`, `${core}../memory/src/`];
  const files = await Promise.all(
    folders.map(async (folder) => (await readdir(folder, { recursive: true })).map((name) => `${folder}${name}`)),
  );
  return Promise.all(files.flatMap((names) => names.filter(isSource).map((name) => readFile(name, "utf8"))));
}

function isSource(name: string): boolean {
  return name.endsWith(".ts");
}

/** Rejects with the output of the compiler if the code has type errors. */
async function checkTypes(code: string): Promise<void> {
  const folder = `${core}reports/doc-examples/`; // not under version control
  const config = {
    extends: "../../../../tsconfig.json",
    compilerOptions: { noUnusedLocals: false },
    files: ["examples.ts"],
    include: [],
  };
  await mkdir(folder, { recursive: true });
  await writeFile(`${folder}examples.ts`, code);
  await writeFile(`${folder}tsconfig.json`, JSON.stringify(config));
  const tsc = `${core}../../node_modules/.bin/tsc`;
  await promisify(execFile)(tsc, ["--project", folder]).catch((error: { stdout: string }) => {
    throw new Error(error.stdout);
  });
  await rm(folder, { recursive: true });
}

describe("the examples in doc comments", { timeout: 90_000 }, () => {
  it("the examples in doc comments have no type errors", async () => {
    await checkTypes(await programOfExamples());
  });

  it("the examples in doc comments run", async () => {
    const printed = await runExample(await programOfExamples(), core);
    expect(printed).toContain("alone with it");
    expect(printed).toContain("true");
  });
});
