/** Installs the servers and the programs that the tests start, where they are missing: more of them for `pnpm nightly`. */
import { chromium, ensureOrExit, etcd, mysql, pgBouncer, postgres, promtool, redisServer } from "./lib/programs.ts";

const nightly = process.env.HOLDFAST_NIGHTLY === "1" ? [promtool] : [];
await ensureOrExit(redisServer, postgres, pgBouncer, mysql, etcd, chromium, ...nightly);
