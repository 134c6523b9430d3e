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
const node10 = { ...strict, module: "CommonJS", moduleResolution: "Node10", esModuleInterop: true };
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
  readonly exclude?: readonly string[];
}

const modules = ["programs/**/*.ts"];
const commonJs = ["programs/*.cts"];
const browserPrograms = browserSubjects.map((subject) => `programs/${subject}-*.ts`);

/** The ways in which a version of TypeScript can resolve modules. */
export function settingsOf({ version }: Compiler): Setting[] {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const knowsRequire = major > 5 || (major === 5 && minor >= 8); // lets CommonJS require an ES module
  const silent = major === 6 ? { ignoreDeprecations: "6.0" } : {};
  const settings: Setting[] = [
    {
      name: "`nodenext`", // what Node does, for programs of both forms
      compilerOptions: { ...nodenext, ...noEmit },
      include: [...modules, ...commonJs],
      ...(!knowsRequire && { exclude: ["programs/*conformance.cts"] }), // an ES module only
    },
    {
      name: "`commonjs` + `node10`", // projects set up before TypeScript knew `exports`
      compilerOptions: { ...node10, ...silent, noEmit: true },
      include: commonJs,
    },
    { name: "`esnext` + `bundler`", compilerOptions: { ...bundler, ...noEmit }, include: modules },
    { name: "the same, for browsers", compilerOptions: { ...browser, ...noEmit }, include: browserPrograms },
  ];
  return settings.filter(({ name }) => major < 7 || !name.includes("node10"));
}

/** Type-checks the programs. Resolves with what a table says about it. */
export async function typeCheck(project: ConsumerProject, compiler: Compiler, setting: Setting): Promise<string> {
  const { name, ...config } = setting;
  await compile(project, compiler, `${compiler.version}-${name.replaceAll(/\W/g, "")}.json`, config);
  return "✓";
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
  options: Omit<Setting, "name">,
): Promise<void> {
  await writeFile(join(directory, config), JSON.stringify(options));
  try {
    await run(process.execPath, [path, "--project", config], directory);
  } catch (error) {
    const errors = (error as Error).message.match(/^\S+\(\d+,\d+\): error TS.*$/gm) ?? [];
    if (errors.length === 0 || errors.some((line) => !line.startsWith(unsoundDeclarations))) throw error;
  }
}
