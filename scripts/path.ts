/**
 * `pnpm path`: counts the functions of our packages that run to acquire and to release one lock over three Redis
 * servers. `--names` lists the functions, and `--json` prints everything for programs.
 */
import { ensureOrExit, redisServer } from "./lib/programs.ts";
import { pathOfOneLock } from "./path/one-lock.ts";
import { table } from "./path/table.ts";

const args = process.argv.slice(2);
if (args.some((arg) => arg !== "--json" && arg !== "--names")) {
  console.error("Usage: pnpm path [--names | --json]");
  process.exit(2);
}
await ensureOrExit(redisServer);
const { acquire, release } = await pathOfOneLock();
const names = args.includes("--names");
if (args.includes("--json")) console.log(JSON.stringify({ acquire, release }));
else console.log(`${table("acquire", acquire, names)}\n\n${table("release", release, names)}`);
