import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "@holdfast/app-kit/servers";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { startPostgresServer } from "@holdfast/testkit/postgres-server";
import { startFencedService } from "./http/fenced-service.ts";
import type { StorageName } from "./storages.ts";

/** Starts a real server of the storage, or creates its folder, and resolves with the address. */
export async function startStorage(storage: StorageName, cleanup: Cleanup): Promise<string> {
  if (storage === "postgres") {
    const server = await startPostgresServer();
    cleanup.defer(server.stop);
    return server.connectionString;
  }
  if (storage === "sqlite") {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-sqlite-"));
    cleanup.defer(() => rm(folder, { recursive: true, force: true }));
    return join(folder, "accounts.db");
  }
  if (storage === "http") {
    const service = await startFencedService("optional");
    cleanup.defer(service.close);
    return service.url;
  }
  return (await startServer(cleanup)).url;
}

/** Starts three lock servers, and resolves with their addresses. */
export function startLockServers(cleanup: Cleanup): Promise<string[]> {
  return Promise.all([1, 2, 3].map(async () => (await startServer(cleanup)).url));
}
