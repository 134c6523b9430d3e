import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
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

const core = "@holdfast/core";

/** The imports and variables that every example in a doc comment may use. */
const preamble = `import { Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
const shared = new Redlock([memoryNode(), memoryNode(), memoryNode()]);`;

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

/** Returns one program for each module from which examples import a class `Redlock`: the first for those of core. */
function programsOf(examples: readonly string[]): string[] {
  const moduleOf = (code: string): string => /^import \{.*\bRedlock\b.*\} from "(.*)";$/m.exec(code)?.[1] ?? core;
  const modules = [...new Set([core, ...examples.map(moduleOf)])];
  return modules.map((module) =>
    programOf(
      examples.filter((code) => moduleOf(code) === module),
      module,
    ),
  );
}

/** Returns one program of all examples, each in a scope of its own. */
function programOf(examples: readonly string[], module = core): string {
  const imports: string[] = [];
  const withoutImports = (code: string) =>
    code.replace(/^import .*$/gm, (line) => {
      imports.push(line);
      return "";
    });
  const scopes = examples.map((example) => {
    const code = withoutImports(example).replace(/^export /gm, "");
    const isWithOwn = module !== core || code.includes("const redlock =");
    return `await (async () => {\n${isWithOwn ? "" : "const redlock = shared;\n"}${code}\n})();`;
  });
  const variables = module === core ? withoutImports(preamble) : "";
  return [merged(imports), variables, ...scopes].join("\n");
}

/** Returns one import of each module, because a program may import a name only once. */
function merged(imports: readonly string[]): string {
  const modules = new Map<string, Set<string>>();
  for (const line of imports) {
    const [, type = "", names = "", module = ""] = /^import (type )?\{ (.*) \} from (".*");$/.exec(line) ?? [];
    if (module === "") throw new Error(`an example imports names: import { … } from …, unlike ${line}`);
    const known = modules.get(module) ?? new Set();
    modules.set(module, known);
    for (const name of names.split(", ")) known.add(type === "" ? name : `type ${name}`);
  }
  return [...modules]
    .map(([module, names]) => {
      const needed = [...names].filter((name) => !names.has(name.replace(/^type /, "")) || !name.startsWith("type "));
      return `import { ${needed.join(", ")} } from ${module};`;
    })
    .join("\n");
}

/** Rejects with the output of the compiler if a program has type errors. */
async function checkTypes(programs: ReadonlyMap<string, string>): Promise<void> {
  const folder = `${root}packages/core/reports/doc-examples/`; // not under version control
  const files = new Map([...programs].map(([path, code]) => [`${root}packages/${path}`, code]));
  const config = {
    extends: `${root}tsconfig.json`,
    compilerOptions: { noUnusedLocals: false },
    files: [...files.keys()],
    include: [],
    references: [],
  };
  await mkdir(folder, { recursive: true });
  await writeFile(`${folder}tsconfig.json`, JSON.stringify(config));
  for (const [file, code] of files) {
    await mkdir(file.replace(/[^/]*$/, ""), { recursive: true });
    await writeFile(file, code);
  }
  await promisify(execFile)(`${root}node_modules/.bin/tsc`, ["--project", folder]).catch(
    (error: { stdout: string }) => {
      throw new Error(error.stdout);
    },
  );
  await Promise.all([...files.keys(), folder].map((path) => rm(path, { recursive: true })));
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
    const programs = new Map<string, string>();
    for (const folder of await publishedPackages()) {
      // The examples of the conformance suite use a client, which that package does not install.
      const name = folder === "conformance" ? "ioredis" : folder;
      const examples = [...(await examplesOf(folder)), ...(name === "ioredis" ? await examplesOf("conformance") : [])];
      if (folder === "conformance" || examples.length === 0) continue;
      for (const [index, program] of programsOf(examples).entries()) {
        programs.set(`${name}/reports/doc-examples-${index}.ts`, program);
      }
    }
    expect(programs.size).toBeGreaterThanOrEqual(12);
    await checkTypes(programs);
  });

  it.each(runnable)("run: %s", async (folder) => {
    const examples = await examplesOf(folder);
    expect(examples).not.toEqual([]);
    await runExample(programOf(examples), `${root}packages/${folder}`);
  });
});
