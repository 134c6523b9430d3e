/** `pnpm chaos`: installs the programs that `apps/chaos` needs, and runs it. */
import { parseCommand } from "../apps/chaos/src/options.ts";
import { ensureFaketime, ensureRedisServer } from "./lib/programs.ts";

const command = parseCommand(process.argv.slice(2));
if (command.kind === "run") {
  try {
    await ensureRedisServer();
    if (command.options.nemeses.some(({ clocks }) => clocks)) await ensureFaketime();
  } catch (error) {
    console.error((error as Error).message);
    process.exit(2);
  }
}
await import("../apps/chaos/src/main.ts");
