/** Installs the servers and the browser that the tests start, where they are missing. */
import { ensureChromium, ensureEtcd, ensurePgBouncer, ensurePostgres, ensureRedisServer } from "./lib/programs.ts";

for (const ensure of [ensureRedisServer, ensurePostgres, ensurePgBouncer, ensureEtcd, ensureChromium]) {
  await ensure().catch((error: Error) => {
    console.error(error.message);
    process.exit(1);
  });
}
