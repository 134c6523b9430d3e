/**
 * `pnpm path`: counts the functions of our packages that run to acquire and to release one lock over three Redis
 * servers. `--names` lists the functions, and `--json` prints everything for programs.
 */
import { ensureOrExit } from "./lib/programs.ts";
import { type FileCalls, totalsOf } from "./path/coverage.ts";
import { pathOfOneLock } from "./path/one-lock.ts";

const args = process.argv.slice(2);
if (args.some((arg) => arg !== "--json" && arg !== "--names")) {
  console.error("Usage: pnpm path [--names | --json]");
  process.exit(2);
}
await ensureOrExit("redis-server");
const path = await pathOfOneLock();
if (args.includes("--json")) console.log(JSON.stringify(path));
else {
  for (const [step, files] of Object.entries(path)) {
    console.log(`\n${step}`);
    console.table(rowsOf(files));
    console.table(totalsOf(files));
  }
}

/** Returns a row for each file, or for each function with `--names`. */
function rowsOf(files: readonly FileCalls[]): object[] {
  return files.flatMap((file): object[] => {
    const place = `${file.package}/${file.file}`;
    if (args.includes("--names")) return file.functions.map((each) => ({ place, ...each }));
    const { functions, calls } = totalsOf([file]);
    return [{ place, functions, calls }];
  });
}
