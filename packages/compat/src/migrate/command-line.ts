/** The command `migrate`: reads its arguments, rewrites files, and prints what it changed and what it left. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { replaceCalls } from "./api.ts";
import { type Changes, libraryNames, replaceImports } from "./imports.ts";
import { applyEdits, Source } from "./source.ts";

const usage = `usage: npx @holdfast/compat migrate [--api] [--dry-run] [paths]

Moves source files from redlock, @sesamecare-oss/redlock and redis-semaphore to Holdfast. Without paths, all files in this
folder, other than those in node_modules, in dist, and in hidden folders.

  --api      replaces calls by those of Holdfast's own API, in the cases that are certain; without it, only imports
  --dry-run  prints what would change, and changes nothing

The exit code is 1 if places are left that a person has to look at, and 2 for wrong arguments.`;

/**
 * Runs the command.
 *
 * @param args the arguments after the name of the program
 * @returns the exit code
 */
export function runMigration(args: readonly string[]): number {
  const parsed = parse(args);
  if (parsed === undefined) {
    console.error(usage);
    return 2;
  }
  const missing = parsed.paths.find((path) => !existsSync(path));
  if (missing !== undefined) {
    console.error(`${missing} does not exist`);
    return 2;
  }
  let changed = 0;
  let left = 0;
  for (const file of [...new Set(parsed.paths.flatMap((path) => filesIn(path)))]) {
    const outcome = migrate(file, parsed);
    if (outcome.isChanged) changed += 1;
    left += outcome.left;
  }
  console.log(
    `${count(changed, "file")} ${parsed.isDryRun ? "would change" : "changed"}, ${count(left, "place")} left`,
  );
  if (changed > 0) console.log(`npm install ${parsed.isApi ? "@holdfast/core @holdfast/ioredis" : "@holdfast/compat"}`);
  return left > 0 ? 1 : 0;
}

interface Parsed {
  readonly isApi: boolean;
  readonly isDryRun: boolean;
  readonly paths: readonly string[];
}

function parse(args: readonly string[]): Parsed | undefined {
  try {
    const options = { api: { type: "boolean" }, "dry-run": { type: "boolean" } } as const;
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    const [command, ...paths] = positionals;
    if (command !== "migrate") return undefined;
    const { api = false, "dry-run": isDryRun = false } = values;
    return { isApi: api, isDryRun, paths: paths.length > 0 ? paths : ["."] };
  } catch (error) {
    console.error((error as Error).message);
    return undefined;
  }
}

/** Returns the source files at a path, in order. */
function filesIn(path: string): readonly string[] {
  if (statSync(path).isFile()) return [path];
  return readdirSync(path, { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const inner = join(path, entry.name);
      if (entry.isDirectory()) return /^(\.|node_modules$|dist$)/.test(entry.name) ? [] : filesIn(inner);
      return entry.isFile() && /(?<!\.d)\.[cm]?[jt]sx?$/.test(entry.name) ? [inner] : [];
    });
}

/** Rewrites a file, and prints how. */
function migrate(file: string, { isApi, isDryRun }: Parsed): { readonly isChanged: boolean; readonly left: number } {
  const code = readFileSync(file, "utf8");
  if (!libraryNames.some((name) => code.includes(name))) return { isChanged: false, left: 0 };
  const name = relative(".", file);
  const { edits, left } = changesOf(code, file, isApi);
  if (edits.length > 0) {
    const moved = applyEdits(code, edits);
    console.log(name);
    printDifference(code, moved);
    if (!isDryRun) writeFileSync(file, moved);
  }
  for (const { line, reason } of left) console.log(`${name}:${line}: left: ${reason}`);
  return { isChanged: edits.length > 0, left: left.length };
}

function changesOf(code: string, file: string, isApi: boolean): Changes {
  let source: Source;
  try {
    source = new Source(code, file);
  } catch (error) {
    const { loc } = error as { loc?: { readonly line: number } };
    return { edits: [], left: [{ line: loc?.line ?? 1, reason: "this file cannot be parsed" }] };
  }
  return isApi ? replaceCalls(source) : replaceImports(source, redlockVersionOf(file));
}

/** Returns the major version of `redlock` on which the nearest package.json that names it depends. */
function redlockVersionOf(file: string): number | undefined {
  for (let folder = dirname(resolve(file)); ; folder = dirname(folder)) {
    const manifest = join(folder, "package.json");
    if (existsSync(manifest)) {
      const { dependencies, devDependencies, peerDependencies } = manifestAt(manifest);
      const range = { ...peerDependencies, ...devDependencies, ...dependencies }.redlock;
      if (range !== undefined) return Number(/\d+/.exec(range)?.[0]);
    }
    if (folder === dirname(folder)) return undefined;
  }
}

type Dependencies = Readonly<Record<string, string>> | undefined;

function manifestAt(path: string): Readonly<Record<string, Dependencies>> {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return {};
  }
}

/** Prints the lines that are no longer in a file, and those that replace them. */
function printDifference(...versions: readonly [before: string, after: string]): void {
  const [before, after] = versions.map((code) => code.split("\n")) as [string[], string[]];
  for (const line of before) if (!after.includes(line)) console.log(`  - ${line}`);
  for (const line of after) if (!before.includes(line)) console.log(`  + ${line}`);
}

function count(total: number, noun: string): string {
  return `${total} ${noun}${total === 1 ? "" : "s"}`;
}
