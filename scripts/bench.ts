/** `pnpm bench`: installs the programs that `apps/bench` needs, and runs it. */
import { parseCommand } from "../apps/bench/src/options.ts";
import { ensureEtcd, ensurePostgres, ensureRedisServer } from "./lib/programs.ts";

const command = parseCommand(process.argv.slice(2));
if (command.kind === "run") {
  try {
    await ensureRedisServer();
    if (command.options.subject === "stores") {
      await ensurePostgres();
      await ensureEtcd();
    }
  } catch (error) {
    console.error((error as Error).message);
    process.exit(2);
  }
}
await import("../apps/bench/src/main.ts");
