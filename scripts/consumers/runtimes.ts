/** The JavaScript runtimes that are supported, which come as npm packages, and Chromium. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findChromium } from "@holdfast/testkit/find-chromium";
import { ensure } from "../lib/programs.ts";
import { run } from "../lib/run.ts";
import { scripts } from "../lib/workspace.ts";
import { npmInstall } from "./project.ts";

export interface Runtime {
  readonly name: string;
  readonly binary: string;
  /** Arguments that precede the file to run. */
  readonly args: readonly string[];
  /** Whether vitest and other tools for Node can run in it. */
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
const node = { name: "Node", package: `node-${system}`, binary: "bin/node", args: [], isNode: true };
const bunPackage = `@oven/bun-${system.replace("arm64", "aarch64")}`;
const denoArgs = ["run", "--allow-all", "--no-remote", "--node-modules-dir=manual"];

/** The oldest supported Node, the newest of each line, and the other runtimes. */
const others = [
  { ...node, version: "20.19.0" },
  { ...node, version: "22.23.3" },
  { ...node, version: "24.21.0" },
  { ...node, version: "26.10.0" },
  { name: "Bun", version: "1.4.5", package: bunPackage, binary: "bin/bun", args: [], isNode: false },
  { name: "Deno", version: "2.9.6", package: `@deno/${denoSystem}`, binary: "deno", args: denoArgs, isNode: false },
];

/** Runtimes are too large to be dependencies of everyone who works here. */
const cache = join(scripts, "node_modules/.cache/consumers");

/** Installs the other runtimes, unless an earlier run has installed them. */
export async function otherRuntimes(): Promise<Runtime[]> {
  await mkdir(cache, { recursive: true });
  await writeFile(join(cache, "package.json"), JSON.stringify({ private: true }));
  const alias = ({ name, version }: (typeof others)[number]) => `${name.toLowerCase()}-${version}`;
  const specifiers = others.map((each) => `${alias(each)}@npm:${each.package}@${each.version}`);
  await npmInstall(specifiers, cache);
  return others.map((each) => ({
    name: `${each.name} ${each.version}`,
    binary: join(cache, "node_modules", alias(each), each.binary),
    args: each.args,
    isNode: each.isNode,
  }));
}

/** An installed browser. */
export interface Chromium {
  readonly name: string;
  readonly binary: string;
}

/** Finds Chromium, and installs it where it is missing. */
export async function chromium(): Promise<Chromium> {
  await ensure("Chromium");
  const binary = (await findChromium()) as string;
  const version = /\d+/.exec(await run(binary, ["--version"], scripts))?.[0];
  return { name: `Chromium ${version}`, binary };
}
