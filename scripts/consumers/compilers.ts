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
export async function compilers(): Promise<Compiler[]> {
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

const modules = ["programs/**/*.ts"];
const commonJs = ["programs/*.cts"];
const browserPrograms = browserSubjects.map((subject) => `programs/${subject}-*.ts`);

/** What Node does, for programs of both forms. */
const nodeSetting: Setting = {
  name: "`nodenext`",
  compilerOptions: { ...nodenext, ...noEmit },
  include: [...modules, ...commonJs],
};
export const settings: readonly Setting[] = [
  nodeSetting,
  { name: "`esnext` + `bundler`", compilerOptions: { ...bundler, ...noEmit }, include: modules },
  { name: "the same, for browsers", compilerOptions: { ...browser, ...noEmit }, include: browserPrograms },
];

/** Type-checks the programs. Resolves with what a table says about it. */
export async function typeCheck(project: ConsumerProject, compiler: Compiler, setting: Setting): Promise<string> {
  const config = `${compiler.version}-${settings.indexOf(setting)}`;
  if (setting !== nodeSetting || knowsRequire(compiler)) {
    await compile(project, compiler, `${config}.json`, setting);
    return "✓";
  }
  await compile(project, compiler, `${config}.json`, { ...setting, include: modules });
  await expectRefusal(project, compiler, `${config}-commonjs.json`);
  return "✓ (TS1479 in CommonJS)";
}

/** TypeScript lets CommonJS require an ES module since 5.8; before, it refuses that of every package. */
function knowsRequire({ version }: Compiler): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 5 || (major === 5 && minor >= 8);
}

/** What it says then of `import from` and of `import = require()`. */
const refusals = ["error TS1479", "error TS1471"];

async function expectRefusal(project: ConsumerProject, compiler: Compiler, config: string): Promise<void> {
  const compilerOptions = { ...nodeSetting.compilerOptions, skipLibCheck: true };
  const problem = await compile(project, compiler, config, { compilerOptions, include: commonJs }).then(
    () => "it was accepted",
    (error: Error) => error.message,
  );
  const others = problem.match(/error TS\d+/g)?.filter((code) => !refusals.includes(code)) ?? [problem];
  if (others.length > 0) throw new Error(`CommonJS: expected nothing but ${refusals.join(" and ")}, but: ${problem}`);
}

/** GLIDE's own declarations have errors (TS2709) where modules are resolved as bundlers do. They are not ours to judge. */
const unsoundDeclarations = "node_modules/@valkey/valkey-glide/";

/** Compiles all programs to `out/NAME.js` and `out/NAME.cjs`, which every runtime can run. */
export async function emit(project: ConsumerProject): Promise<void> {
  const compiler = await compilerIn(join(root, "node_modules/typescript"));
  const compilerOptions = { ...nodenext, skipLibCheck: true, noCheck: true, rootDir: "programs", outDir: "out" };
  await compile(project, compiler, "emit.json", { compilerOptions, include: ["programs/*.ts", ...commonJs] });
}

async function compile(
  { directory }: ConsumerProject,
  { path }: Compiler,
  config: string,
  { compilerOptions, include }: Omit<Setting, "name">,
): Promise<void> {
  await writeFile(join(directory, config), JSON.stringify({ compilerOptions, include }));
  try {
    await run(process.execPath, [path, "--project", config], directory);
  } catch (error) {
    const errors = (error as Error).message.match(/^\S+\(\d+,\d+\): error TS.*$/gm) ?? [];
    if (errors.length === 0 || errors.some((line) => !line.startsWith(unsoundDeclarations))) throw error;
  }
}
