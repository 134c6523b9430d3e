/** The JavaScript runtimes that are supported, and Chromium. All of them come as npm packages. */
import { createReadStream, createWriteStream, existsSync } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress } from "node:zlib";
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

const longTerm = { ...node, version: "24.21.0" };

/** The oldest supported Node, the newest of each line, and the other runtimes. */
const others = [
  { ...node, version: "20.19.0" },
  { ...node, version: "22.23.3" },
  longTerm,
  { ...node, version: "26.10.0" },
  { name: "Bun", version: "1.4.5", package: bunPackage, binary: "bin/bun", args: [], isNode: false },
  { name: "Deno", version: "2.9.6", package: `@deno/${denoSystem}`, binary: "deno", args: denoArgs, isNode: false },
];

/** Runtimes are too large to be dependencies of everyone who works here. */
const cache = join(scripts, "node_modules/.cache/consumers");

/** Installs the other runtimes, unless an earlier run has installed them. */
export async function otherRuntimes(): Promise<Runtime[]> {
  await startProject(cache);
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

/** Installs the newest Node with long-term support, unless an earlier run has installed it. */
export async function longTermNode(): Promise<string> {
  const folder = join(cache, "node");
  const { package: name, version, binary } = longTerm;
  const installed = join(folder, "node_modules", name, binary);
  if (!existsSync(installed)) {
    await startProject(folder);
    await npmInstall([`${name}@${version}`], folder);
  }
  return installed;
}

/** A browser for Linux on x64. */
export interface Chromium {
  readonly name: string;
  readonly binary: string;
}

const chromiumVersion = "153.0.0";

/** Installs Chromium, unless an earlier run has installed it. */
export async function chromium(): Promise<Chromium> {
  const folder = join(cache, "chromium");
  const binary = join(folder, `chromium-${chromiumVersion}`);
  if (!existsSync(binary)) {
    await startProject(folder);
    await npmInstall([`@sparticuz/chromium@${chromiumVersion}`], folder);
    const packed = createReadStream(join(folder, "node_modules/@sparticuz/chromium/bin/chromium.br"));
    await pipeline(packed, createBrotliDecompress(), createWriteStream(`${binary}.part`, { mode: 0o755 }));
    await rename(`${binary}.part`, binary);
  }
  return { name: `Chromium ${chromiumVersion.split(".")[0]}`, binary };
}

async function startProject(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "package.json"), JSON.stringify({ private: true }));
}
