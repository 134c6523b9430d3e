/** What can run JavaScript, and the programs of a consumer's project in it. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../lib/run.ts";
import { scripts } from "../lib/workspace.ts";
import { type ConsumerProject, npmInstall } from "./project.ts";

export interface Runtime {
  readonly name: string;
  readonly binary: string;
  /** What comes before the name of the file to run. */
  readonly args: readonly string[];
  /** Whether it can run vitest, which is written for Node. */
  readonly isNode: boolean;
}

/** The Node that runs this script. */
export const thisNode: Runtime = {
  name: `Node ${process.versions.node}`,
  binary: process.execPath,
  args: [],
  isNode: true,
};

const system = `${process.platform}-${process.arch}`;
const denoSystem = process.platform === "linux" ? `${system}-glibc` : system;
const bunSystem = system.replace("arm64", "aarch64");
const denoArgs = ["run", "--allow-all", "--no-remote", "--node-modules-dir=manual"];

/** The floor of the supported Node versions, the newest of each line, and the other runtimes; as npm packages. */
const others = [
  { name: "Node", version: "20.19.0", package: `node-${system}`, binary: "bin/node", args: [], isNode: true },
  { name: "Node", version: "22.23.3", package: `node-${system}`, binary: "bin/node", args: [], isNode: true },
  { name: "Node", version: "24.21.0", package: `node-${system}`, binary: "bin/node", args: [], isNode: true },
  { name: "Node", version: "26.10.0", package: `node-${system}`, binary: "bin/node", args: [], isNode: true },
  { name: "Bun", version: "1.4.5", package: `@oven/bun-${bunSystem}`, binary: "bin/bun", args: [], isNode: false },
  { name: "Deno", version: "2.9.6", package: `@deno/${denoSystem}`, binary: "deno", args: denoArgs, isNode: false },
] as const;

/** Where `pnpm consumers` keeps what is too large to be a dependency of everybody who works here. */
export const cache: string = join(scripts, "node_modules/.cache/consumers");

/** Installs the other runtimes, unless they are there from an earlier run. */
export async function otherRuntimes(): Promise<Runtime[]> {
  const aliased = others.map((runtime) => ({ ...runtime, alias: `${runtime.name.toLowerCase()}-${runtime.version}` }));
  await mkdir(cache, { recursive: true });
  await writeFile(join(cache, "package.json"), JSON.stringify({ private: true }));
  await npmInstall(
    aliased.map(({ alias, package: name, version }) => `${alias}@npm:${name}@${version}`),
    cache,
  );
  return aliased.map(({ name, version, alias, binary, args, isNode }) => ({
    name: `${name} ${version}`,
    binary: join(cache, "node_modules", alias, binary),
    args,
    isNode,
  }));
}

/** How a program gets at the packages. */
export type Form = "import" | "require";

const longestProgramMs = 60_000;
const longestTestRunMs = 300_000;

/** Runs all programs about one subject. Resolves with what a table says about it. */
export async function runSubject(
  project: ConsumerProject,
  runtime: Runtime,
  form: Form,
  subject: string,
): Promise<string> {
  const ending = form === "import" ? "js" : "cjs";
  const options = { env: { DENO_DIR: join(project.directory, "deno") }, timeoutMs: longestProgramMs };
  for (const { name } of project.programs.filter((program) => program.subject === subject)) {
    const command = [...runtime.args, `out/${name}.${ending}`];
    const printed = await run(runtime.binary, command, project.directory, options);
    if (printed.trim() === "") throw new Error(`${runtime.name}: ${name}.${ending} printed nothing`);
  }
  return "✓";
}

/** Runs the tests that a README shows: with vitest, which has to be imported. */
export async function runTests({ directory }: ConsumerProject, { binary }: Runtime, folder: string): Promise<string> {
  const command = [join(directory, "node_modules/vitest/vitest.mjs"), "run", "--root", folder];
  const printed = await run(binary, command, directory, { timeoutMs: longestTestRunMs });
  const passed = Number(/Tests .*?(\d+) passed/.exec(printed)?.[1] ?? 0);
  if (passed === 0) throw new Error(`no test ran:\n${printed}`);
  return "✓";
}

/** Runs a program under a lock by `holdfast`, as npm has installed it, and without a server. */
export async function runUnderLock(
  { directory }: ConsumerProject,
  runtime: Runtime,
  holdfast: string,
): Promise<string> {
  const program = [runtime.binary, "-e", "console.log(process.env.HOLDFAST_RESOURCE)"];
  const command = [...runtime.args, holdfast, "run", "--memory", "a trial", "--", ...program];
  const printed = await run(runtime.binary, command, directory, { timeoutMs: longestProgramMs });
  if (printed.trim() !== "a trial") throw new Error(`${runtime.name}: ${holdfast} printed ${JSON.stringify(printed)}`);
  return "✓";
}
