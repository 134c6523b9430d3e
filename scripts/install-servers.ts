/** Installs the servers and the programs that the tests start, where they are missing. */
import { chromium, ensureOrExit, etcd, pgBouncer, postgres, promtool, redisServer } from "./lib/programs.ts";

await ensureOrExit(redisServer, postgres, pgBouncer, etcd, chromium, promtool);
