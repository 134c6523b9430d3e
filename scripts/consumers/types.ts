/**
 * Type checks of a consumer's programs, by each supported TypeScript and with the settings in `fixtures/typescript`.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { run } from "../lib/run.ts";
import { readManifest, root, scripts } from "../lib/workspace.ts";
import { type ConsumerProject, fixtures } from "./project.ts";

export interface Compiler {
  readonly version: string;
  /** The path of `tsc`. */
  readonly tsc: string;
}

/** The names of the settings, as tables show them. `fixtures/typescript` has a file for each. */
const settings = {
  nodenext: "`nodenext`", // what Node does, for programs of both forms
  "commonjs-node10": "`commonjs` + `node10`", // for projects set up before TypeScript knew `exports`
  "esnext-bundler": "`esnext` + `bundler`",
  browsers: "the same, for browsers",
} as const;

/** The packages that run in browsers. Their programs are also checked with the types of a browser. */
export const browserSubjects = ["core", "membership", "memory", "web-locks"];

/** Returns the supported versions of TypeScript, from the oldest to the newest. */
export async function compilers(): Promise<Compiler[]> {
  const aliases = ["typescript-5.4", "typescript-5.9", "typescript"].map((name) => join(scripts, "node_modules", name));
  const folders = [...aliases, join(root, "node_modules/typescript")];
  return Promise.all(
    folders.map(async (folder) => ({
      version: (await readManifest(folder)).version ?? "",
      tsc: join(folder, "bin/tsc"),
    })),
  );
}

/** Returns the settings that a version of TypeScript knows, each with its file. Some versions need a variant. */
export function settingsFor({ version }: Compiler): { name: string; file: string }[] {
  const [major, minor] = version.split(".");
  return Object.entries(settings)
    .filter(([setting]) => Number(major) < 7 || setting !== "commonjs-node10")
    .map(([setting, name]) => {
      const variant = `typescript/${setting}-${major}.${minor}.json`;
      return { name, file: existsSync(join(fixtures, variant)) ? variant : `typescript/${setting}.json` };
    });
}

/** Compiles all programs to `out/NAME.js` and `out/NAME.cjs`, which every runtime can run. */
export async function emit(project: ConsumerProject): Promise<void> {
  await compile(project, join(root, "node_modules/typescript/bin/tsc"), "typescript/emit.json");
}

/**
 * Clients whose own declarations have errors, which are not counted: GLIDE's under `bundler` (TS2709), those of `pg` under
 * TypeScript 5.4 (TS2315).
 */
const unsoundDeclarations = ["node_modules/@valkey/valkey-glide/", "node_modules/pg-protocol/"];

/** Runs `tsc` with a settings file. */
export async function compile({ directory }: ConsumerProject, tsc: string, file: string): Promise<void> {
  try {
    await run(process.execPath, [tsc, "--project", file], directory);
  } catch (error) {
    const errors = (error as Error).message.match(/^\S+\(\d+,\d+\): error TS.*$/gm) ?? [];
    if (errors.length === 0 || errors.some((line) => !unsoundDeclarations.some((path) => line.startsWith(path))))
      throw error;
  }
}
