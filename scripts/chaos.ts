/** `pnpm chaos`: installs the programs that `apps/chaos` needs, and runs it. */
import { parseCommand } from "../apps/chaos/src/options.ts";
import { ensureOrExit } from "./lib/programs.ts";

const command = parseCommand(process.argv.slice(2));
if (command.kind === "run") {
  const setsClocks = command.options.nemeses.some(({ clocks }) => clocks);
  await ensureOrExit("redis-server", ...(setsClocks ? ["libfaketime" as const] : []));
}
await import("../apps/chaos/src/main.ts");
