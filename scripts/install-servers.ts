/** Installs the servers and the programs that the tests start, where they are missing: more of them for `pnpm nightly`. */
import { ensureOrExit } from "./lib/programs.ts";

const servers = ["redis-server", "PostgreSQL", "pgbouncer", "MariaDB", "etcd"] as const;
await ensureOrExit(...servers, "Chromium", ...(process.env.HOLDFAST_NIGHTLY === "1" ? ["promtool" as const] : []));
