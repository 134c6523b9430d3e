/** The versions of TypeScript that consumers have, and the ways in which they resolve modules. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../lib/run.ts";
import { readManifest, root, scripts } from "../lib/workspace.ts";
import type { ConsumerProject } from "./project.ts";

export interface Compiler {
  readonly version: string;
  /** The file that is `tsc`. */
  readonly path: string;
}

/** The oldest TypeScript that is supported first, and the newest last. */
export async function compilers(): Promise<[Compiler, Compiler, Compiler, Compiler]> {
  return Promise.all([
    compilerIn(join(scripts, "node_modules/typescript-5.4")),
    compilerIn(join(scripts, "node_modules/typescript-5.9")),
    compilerIn(join(scripts, "node_modules/typescript")),
    compilerIn(join(root, "node_modules/typescript")),
  ]);
}

async function compilerIn(folder: string): Promise<Compiler> {
  const { version = "" } = await readManifest(folder);
  return { version, path: join(folder, "bin/tsc") };
}

/** A strict project without any of our settings. Also the types of what it installed are checked. */
const strict = {
  target: "ES2022",
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  types: ["node"],
};
const nodenext = { ...strict, module: "NodeNext", moduleResolution: "NodeNext" };
const bundler = { ...strict, module: "ESNext", moduleResolution: "Bundler" };

/** What runs in a browser, as programs of a project that has the types of a browser and not those of Node. */
export const browserSubjects = ["core", "memory"];
const browser = { ...bundler, types: [], lib: ["ES2022", "ESNext.Disposable", "DOM"] };

const noEmit = { noEmit: true, allowImportingTsExtensions: true };

/** A way in which a consumer's project can be set up. */
export interface Setting {
  readonly name: string;
  readonly compilerOptions: object;
  readonly include: readonly string[];
}

const requiring: Setting = {
  name: "`nodenext`, CommonJS",
  compilerOptions: { ...nodenext, ...noEmit },
  include: ["programs/*.cts"],
};

export const settings: readonly Setting[] = [
  { name: "`nodenext`", compilerOptions: { ...nodenext, ...noEmit }, include: ["programs/**/*.ts"] },
  { name: "`esnext` + `bundler`", compilerOptions: { ...bundler, ...noEmit }, include: ["programs/**/*.ts"] },
  requiring,
  {
    name: "`bundler`, browser",
    compilerOptions: { ...browser, ...noEmit },
    include: browserSubjects.map((subject) => `programs/${subject}-*.ts`),
  },
];

/** Type-checks the programs. Resolves with what a table says about it. */
export async function typeCheck(project: ConsumerProject, compiler: Compiler, setting: Setting): Promise<string> {
  const config = `${compiler.version}-${settings.indexOf(setting)}.json`;
  const check = compile(project, compiler, config, setting);
  if (setting !== requiring || knowsRequire(compiler)) return check.then(() => "✓");
  const problem = await check.then(
    () => "it was accepted",
    (error: Error) => error.message,
  );
  const others = problem.match(/error TS\d+/g)?.filter((code) => !refusals.includes(code)) ?? [problem];
  if (others.length > 0) throw new Error(`expected nothing but ${refusals.join(" and ")}, but: ${problem}`);
  return "TS1479";
}

/** What TypeScript says of `import from` and of `import = require()`. */
const refusals = ["error TS1479", "error TS1471"];

/** TypeScript lets CommonJS require an ES module since 5.8; before, it refuses that of every package. */
function knowsRequire({ version }: Compiler): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 5 || (major === 5 && minor >= 8);
}

/** Compiles all programs to `out/NAME.js` and `out/NAME.cjs`, which every runtime can run. */
export async function emit(project: ConsumerProject, compiler: Compiler): Promise<void> {
  const compilerOptions = { ...nodenext, skipLibCheck: true, noCheck: true, rootDir: "programs", outDir: "out" };
  await compile(project, compiler, "emit.json", { compilerOptions, include: ["programs/*.ts", "programs/*.cts"] });
}

async function compile(
  { directory }: ConsumerProject,
  { path }: Compiler,
  config: string,
  { compilerOptions, include }: Omit<Setting, "name">,
): Promise<void> {
  await writeFile(join(directory, config), JSON.stringify({ compilerOptions, include }));
  await run(process.execPath, [path, "--project", config], directory);
}
