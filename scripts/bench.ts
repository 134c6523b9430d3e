/** `pnpm bench`: installs the programs that `apps/bench` needs, and runs it. */
import { parseCommand } from "../apps/bench/src/options.ts";
import { ensureOrExit, etcd, mysql, postgres, redisServer } from "./lib/programs.ts";

const command = parseCommand(process.argv.slice(2));
if (command.kind === "run") {
  await ensureOrExit(redisServer, ...(command.options.subject === "stores" ? [postgres, mysql, etcd] : []));
}
await import("../apps/bench/src/main.ts");
