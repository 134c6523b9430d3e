/** A consumer's project: packed packages, installed with npm outside this workspace, and programs that use them. */
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type ExampleServer, examplePorts, startExampleServer } from "@holdfast/docs-testkit";
import type { PackedPackage } from "../lib/packing.ts";
import { run } from "../lib/run.ts";
import { withTemporaryFolder } from "../lib/temporary-folder.ts";
import { readManifest, root, scripts, type WorkspacePackage } from "../lib/workspace.ts";
import { allExamples, type Example, folderName, importedPackages, insideFunction } from "./examples.ts";
import { entryPoints, exportsPrinter, exportsProgram } from "./exports.ts";

export interface ConsumerProject {
  readonly directory: string;
  readonly programs: readonly Program[];
  /** For each subject whose programs are tests, the folder in which to run vitest. */
  readonly testFolders: ReadonlyMap<string, string>;
  /** For each subject that can be run as a program, the path of its command. */
  readonly commands: ReadonlyMap<string, string>;
}

/** A program in both forms: `programs/NAME.ts`, which imports, and `programs/NAME.cts`, which requires. */
export interface Program {
  /** Begins with the subject, or with `without-browsers` if it needs modules of Node.js itself. */
  readonly name: string;
  /** An example of a README, or a comparison of what a package exports with its types. */
  readonly kind: "example" | "exports";
  /** The folder name of the package that it uses, or "README.md" for an example of the repository's README. */
  readonly subject: string;
}

/** The projects and compiler settings that are copied into the consumer's project. */
export const fixtures: string = join(scripts, "consumers/fixtures");

/** Sets up the project, with servers for the examples. Removes both when `use` settles. */
export async function withConsumerProject<T>(
  packages: readonly PackedPackage[],
  use: (project: ConsumerProject) => Promise<T>,
): Promise<T> {
  return withTemporaryFolder(async (directory) => {
    const servers: ExampleServer[] = [];
    try {
      for (const port of examplePorts) servers.push(await startExampleServer(port));
      return await use(await setUp(packages, directory, servers));
    } finally {
      await Promise.all(servers.map((server) => server.stop()));
    }
  });
}

/** Writes the application that docs/frameworks/nestjs.md shows, with imports as in CommonJS. */
async function writeNestApplication(directory: string): Promise<void> {
  const files = ["invoices", "http", "nest/app.module"];
  for (const file of files) {
    const code = await readFile(join(root, `apps/recipes/src/${file}.ts`), "utf8");
    await writeIn(directory, `nest/src/${file}.ts`, code.replaceAll(/(?<=from "\..*)\.ts"/g, '"'));
  }
}

/** Returns the tests that docs/testing.md shows, changed for Jest as that page says. */
function forJest(tests: string): string {
  const imports = 'import { afterEach, beforeEach, expect, test, vi } from "vitest";';
  if (!tests.includes(imports)) throw new Error(`the tests have no line ${imports}`);
  return tests.replace(imports, 'import { afterEach, beforeEach, expect, jest as vi, test } from "@jest/globals";');
}

async function setUp(
  packages: readonly PackedPackage[],
  directory: string,
  servers: readonly ExampleServer[],
): Promise<ConsumerProject> {
  const examples = await allExamples(packages);
  await cp(fixtures, directory, { recursive: true });
  const tests = await readFile(join(root, "apps/recipes/test/testing-code.test.ts"), "utf8");
  await writeIn(directory, "ts-jest/testing-code.test.ts", forJest(tests));
  await writeNestApplication(directory);
  await install(packages, examples, directory);

  const programs = await writeExportsPrograms(packages, directory);
  const testFolders = new Map<string, string>();
  for (const [index, { subject, code, fileName }] of examples.entries()) {
    if (fileName !== undefined) {
      testFolders.set(subject, join("programs", subject));
      await writeIn(directory, join("programs", subject, fileName), code);
      continue;
    }
    const name = `${code.includes('from "node:') ? "without-browsers-" : ""}${subject}-${index + 1}`;
    await writeIn(directory, `programs/${name}.ts`, code);
    await writeIn(directory, `programs/${name}.cts`, insideFunction(code));
    programs.push({ name, kind: "example", subject });
  }
  await replacePorts(directory, servers);
  const commands = packages.flatMap((each) =>
    Object.keys(each.manifest.bin ?? {}).map(
      (name) => [folderName(each.directory), `node_modules/.bin/${name}`] as const,
    ),
  );
  return { directory, programs, testFolders, commands: new Map(commands) };
}

/**
 * Installs our packages from tarballs, their peers, the other packages that examples import, and the tools of fixtures.
 */
async function install(packages: readonly PackedPackage[], examples: readonly Example[], directory: string) {
  const tarballs = packages.map(({ tarball }) => tarball);
  const ours = packages.map(({ manifest }) => manifest.name);
  const wanted = new Set([
    "@types/node",
    "@types/pg", // pg has no types of its own
    "tsx", // the README of the conformance suite loads its rival with it
    ...packages.flatMap(({ manifest }) => Object.keys(manifest.peerDependencies ?? {})),
    ...examples.flatMap(({ code }) => importedPackages(code)),
  ]);
  const { devDependencies: fixed = {} } = await readManifest(fixtures);
  const installed = [...ours, ...Object.keys(fixed)]; // such as an older Nest than that of the other tests
  const others = [...wanted].filter((name) => !installed.includes(name)).map((name) => asTested(name, packages));
  await npmInstall([...tarballs, ...(await Promise.all(others))], directory);
}

/** Installs packages without running their install scripts, so that everything comes from the registry. */
export async function npmInstall(packages: readonly string[], directory: string): Promise<void> {
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--save-exact"];
  await run("npm", ["install", ...flags, ...packages], directory);
}

/** Returns a package in the version that this workspace tests with. */
async function asTested(name: string, packages: readonly WorkspacePackage[]): Promise<string> {
  const folders = [...packages.map(({ directory }) => directory), root].map((from) => join(from, "node_modules", name));
  const folder = folders.find((candidate) => existsSync(candidate));
  if (!folder)
    throw new Error(`no package of this workspace depends on ${name}, which a README imports or a peer needs`);
  return `${name}@${(await readManifest(folder)).version}`;
}

/** Replaces the ports that READMEs show by those of running servers, in everything that was not installed. */
async function replacePorts(directory: string, servers: readonly ExampleServer[]): Promise<void> {
  for (const file of await readdir(directory, { recursive: true })) {
    if (file.startsWith("node_modules") || !/\.[cm]?[jt]s$/.test(file)) continue;
    const code = await readFile(join(directory, file), "utf8");
    const replaced = examplePorts.reduce((text, port, index) => text.replaceAll(port, `${servers[index]?.port}`), code);
    await writeFile(join(directory, file), replaced);
  }
}

async function writeExportsPrograms(packages: readonly WorkspacePackage[], directory: string): Promise<Program[]> {
  const imported = packages.filter(({ manifest }) => entryPoints(manifest).length > 0);
  return Promise.all(
    imported.map(async (source): Promise<Program> => {
      const subject = folderName(source.directory);
      const name = `exports-${subject}`;
      await writeIn(directory, `${name}.mjs`, exportsPrinter(entryPoints(source.manifest)));
      const names = JSON.parse(await run(process.execPath, [`${name}.mjs`], directory));
      await writeIn(directory, `programs/${name}.ts`, exportsProgram(names, "import"));
      await writeIn(directory, `programs/${name}.cts`, exportsProgram(names, "require"));
      return { name, kind: "exports", subject };
    }),
  );
}

async function writeIn(directory: string, path: string, text: string): Promise<void> {
  const file = join(directory, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}
