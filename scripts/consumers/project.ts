/** A consumer's project: the packed packages, installed with npm outside of this workspace, and programs that use them. */
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type RedisServer, startRedisServer } from "@holdfast/testkit";
import { pack } from "../lib/packing.ts";
import { run } from "../lib/run.ts";
import { withTemporaryFolder } from "../lib/temporary-folder.ts";
import { publicPackages, readManifest, root, type WorkspacePackage } from "../lib/workspace.ts";
import { allExamples, type Example, folderName, importedPackages, insideFunction } from "./examples.ts";
import { entryPoints, exportsPrinter, exportsProgram } from "./exports.ts";
import { fixtureTools, writeFixtures } from "./fixtures.ts";

export interface ConsumerProject {
  readonly directory: string;
  readonly programs: readonly Program[];
  /** Subjects whose programs are tests, with the folder to run vitest in. */
  readonly testFolders: ReadonlyMap<string, string>;
  /** Subjects that can be run as a program, with what npm has installed for that. */
  readonly commands: ReadonlyMap<string, string>;
}

/** A program in both forms: `programs/NAME.ts`, which imports, and `programs/NAME.cts`, which requires. */
export interface Program {
  readonly name: string;
  /** What a README shows, or a check of what the package exports. */
  readonly kind: "example" | "exports";
  /** The folder name of the package that it uses, or "README.md" for the program of the repository's README. */
  readonly subject: string;
}

/** Ports that READMEs show, each of which stands for one server. */
const portsOfReadmes = ["6379", "7001", "7002", "7003", "7004", "7005"];

/** Sets up the project, with real servers for the examples. Both are gone when `use` has settled. */
export async function withConsumerProject<T>(use: (project: ConsumerProject) => Promise<T>): Promise<T> {
  return withTemporaryFolder(async (directory) => {
    const servers: RedisServer[] = [];
    try {
      for (const _ of portsOfReadmes) servers.push(await startRedisServer());
      return await use(await setUp(directory, servers));
    } finally {
      await Promise.all(servers.map((server) => server.stop()));
    }
  });
}

async function setUp(directory: string, servers: readonly RedisServer[]): Promise<ConsumerProject> {
  const packages = await publicPackages();
  const examples = await allExamples(packages);
  await writeFile(join(directory, "package.json"), JSON.stringify({ private: true, type: "module" }));
  await install(packages, examples, directory);

  const withRealPorts = examples.map((example) => ({ ...example, code: replacePorts(example.code, servers) }));
  const single = withRealPorts.filter(({ fileName }) => fileName === undefined);
  const programs = [...(await writeExamples(single, directory)), ...(await writeExportsPrograms(packages, directory))];
  const testFolders = new Map<string, string>();
  for (const { subject, code, fileName } of withRealPorts.filter(({ fileName }) => fileName !== undefined)) {
    testFolders.set(subject, join("programs", subject));
    await writeIn(directory, join("programs", subject, fileName ?? ""), code);
  }
  await writeFixtures(directory, (code) => replacePorts(code, servers));
  return { directory, programs, testFolders, commands: commandsOf(packages) };
}

function commandsOf(packages: readonly WorkspacePackage[]): Map<string, string> {
  const commands = packages.flatMap(({ directory, manifest }) =>
    Object.keys(manifest.bin ?? {}).map((name) => [folderName(directory), join("node_modules/.bin", name)] as const),
  );
  return new Map(commands);
}

/** With npm: our packages from tarballs, their peers, whatever else the examples import, and the tools of CommonJS projects. */
async function install(packages: readonly WorkspacePackage[], examples: readonly Example[], directory: string) {
  const tarballs = (await pack(packages, directory)).map(({ tarball }) => tarball);
  const ours = packages.map(({ manifest }) => manifest.name);
  const wanted = new Set([
    "@types/node",
    "tsx", // with which the README of the conformance suite has its rival loaded
    ...packages.flatMap(({ manifest }) => Object.keys(manifest.peerDependencies ?? {})),
    ...examples.flatMap(({ code }) => importedPackages(code)),
  ]);
  const others = await Promise.all(
    [...wanted].filter((name) => !ours.includes(name)).map((name) => asTested(name, packages)),
  );
  await npmInstall([...tarballs, ...others, ...fixtureTools], directory);
}

/** Runs no install scripts, so that nothing comes from anywhere but the registry. */
export async function npmInstall(packages: readonly string[], directory: string): Promise<void> {
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--save-exact"];
  await run("npm", ["install", ...flags, ...packages], directory);
}

/** A package in the version that this workspace tests with. */
async function asTested(name: string, packages: readonly WorkspacePackage[]): Promise<string> {
  const folders = [...packages.map(({ directory }) => directory), root].map((from) => join(from, "node_modules", name));
  const folder = folders.find((candidate) => existsSync(candidate));
  if (!folder) throw new Error(`${name} is imported by a README, or a peer, and no package of this workspace has it`);
  return `${name}@${(await readManifest(folder)).version}`;
}

function replacePorts(code: string, servers: readonly RedisServer[]): string {
  return portsOfReadmes.reduce((text, port, index) => text.replaceAll(port, `${servers[index]?.port}`), code);
}

async function writeExamples(examples: readonly Example[], directory: string): Promise<Program[]> {
  return Promise.all(
    examples.map(async ({ subject, code }, index): Promise<Program> => {
      const name = `${subject}-${index + 1}`;
      await writeIn(directory, `programs/${name}.ts`, code);
      await writeIn(directory, `programs/${name}.cts`, insideFunction(code));
      return { name, kind: "example", subject };
    }),
  );
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
