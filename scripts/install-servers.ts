/** Installs the servers and the browser that the tests start, where they are missing. */
import { chromium, ensureOrExit, etcd, pgBouncer, postgres, redisServer } from "./lib/programs.ts";

await ensureOrExit(redisServer, postgres, pgBouncer, etcd, chromium);
