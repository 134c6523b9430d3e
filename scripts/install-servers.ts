/** Installs the servers that the tests start, where they are missing. */
import { ensureEtcd, ensurePgBouncer, ensurePostgres, ensureRedisServer } from "./lib/programs.ts";

for (const ensure of [ensureRedisServer, ensurePostgres, ensurePgBouncer, ensureEtcd]) {
  await ensure().catch((error: Error) => {
    console.error(error.message);
    process.exit(1);
  });
}
