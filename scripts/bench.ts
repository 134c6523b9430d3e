/** `pnpm bench`: installs the program that `apps/bench` needs, and runs it. */
import { parseCommand } from "../apps/bench/src/options.ts";
import { ensureRedisServer } from "./lib/programs.ts";

if (parseCommand(process.argv.slice(2)).kind === "run") {
  try {
    await ensureRedisServer();
  } catch (error) {
    console.error((error as Error).message);
    process.exit(2);
  }
}
await import("../apps/bench/src/main.ts");
