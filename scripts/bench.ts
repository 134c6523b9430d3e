/** `pnpm bench`: installs the programs that `apps/bench` needs, and runs it. */
import { parseCommand } from "../apps/bench/src/options.ts";
import { ensureOrExit } from "./lib/programs.ts";

const command = parseCommand(process.argv.slice(2));
if (command.kind === "run") {
  const stores = command.options.subject === "stores" ? (["PostgreSQL", "MariaDB", "etcd"] as const) : [];
  await ensureOrExit("redis-server", ...stores);
}
await import("../apps/bench/src/main.ts");
