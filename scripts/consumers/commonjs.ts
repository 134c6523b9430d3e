/** Projects that are CommonJS through and through, with the tools that they have: the folders of `fixtures`. */
import { join } from "node:path";
import { build } from "esbuild";
import { run } from "../lib/run.ts";
import type { ConsumerProject } from "./project.ts";
import type { Runtime } from "./runtimes.ts";

/** Something that such a project does with one version of Node. It rejects when it fails. */
type Use = (node: Node) => Promise<unknown>;

/** A version of Node to run files with, in the folder of the projects. */
interface Node {
  /** Distinguishes what it writes from what another one does, which may run at the same time. */
  readonly id: string;
  readonly folder: string;
  run(file: string, args?: readonly string[]): Promise<unknown>;
}

const uses: Readonly<Record<string, Use>> = {
  "Jest 30": (node) => jest(node, "jest"),
  "ts-jest 29, TypeScript 5.4": (node) => jest(node, "ts-jest"),
  "decorators as in Nest, TypeScript 5.4": async (node) => {
    await node.run("../node_modules/typescript/bin/tsc", ["--project", "nest", "--outDir", `nest/${node.id}`]);
    await node.run(`nest/${node.id}/main.js`);
  },
  "webpack 5": async (node) => {
    await node.run("bundle/webpack.js", [`${node.id}-webpack.js`]);
    await node.run(`bundle/${node.id}-webpack.js`);
  },
  esbuild: async (node) => {
    const outfile = join(node.folder, `bundle/${node.id}-esbuild.js`);
    await build({
      entryPoints: [join(node.folder, "bundle/main.js")],
      outfile,
      bundle: true,
      platform: "node",
      format: "cjs",
      logLevel: "silent",
    });
    await node.run(outfile);
  },
  "`import` and `require()` agree": (node) => node.run("copies/one.cjs"),
  "both builds at once": (node) => node.run("copies/two.cjs"),
};

/** The names of what can be tried. */
export const commonJsUses: readonly string[] = Object.keys(uses);

const longestUseMs = 120_000;

/** Tries one of them. Resolves with what a table says about it. */
export async function tryCommonJs({ directory }: ConsumerProject, runtime: Runtime, use: string): Promise<string> {
  const folder = join(directory, "commonjs");
  await uses[use]?.({
    id: runtime.name.replaceAll(/\W/g, "-"),
    folder,
    async run(file, args = []) {
      const printed = await run(runtime.binary, [file, ...args], folder, { timeoutMs: longestUseMs });
      if (file.endsWith("/main.js") && printed.trim() === "") throw new Error(`${file} printed nothing`);
    },
  });
  return "✓";
}

function jest({ id, run }: Node, project: string): Promise<unknown> {
  const config = ["--config", `${project}/jest.config.js`, "--cacheDirectory", `jest-cache-${id}`];
  return run("../node_modules/jest/bin/jest.js", config);
}
