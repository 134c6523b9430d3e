import { existsSync } from "node:fs";
import { mkdtemp, open, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "@holdfast/app-kit/servers";
import { createTable as createMysqlTable } from "@holdfast/mysql";
import { createTable } from "@holdfast/postgres";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { startEtcdServer } from "@holdfast/testkit/etcd-server";
import { startMysqlServer } from "@holdfast/testkit/mysql-server";
import { startPostgresServer } from "@holdfast/testkit/postgres-server";
import mysql from "mysql2/promise";
import pg from "pg";
import type { StoreName } from "./contenders/contender.ts";
import { leaseTable } from "./contenders/mysql.ts";
import { treeCpuUs } from "./load.ts";
import { quartilesOf } from "./measure/statistics.ts";
import type { Place } from "./servers.ts";

/** One store of each kind and durability, started on first use. */
export type Stores = ReturnType<typeof createStores>;

/**
 * Makes an empty set of stores.
 *
 * @param cleanup stops their servers, and removes their files
 */
export function createStores(cleanup: Cleanup) {
  const all = new Map<string, Promise<Place>>();
  /**
   * Returns a store.
   *
   * @param isSynced whether each change is synced to the disk before the reply
   */
  return (name: StoreName, isSynced: boolean): Promise<Place> => {
    const key = `${name} ${isSynced}`;
    const store = all.get(key) ?? start[name](isSynced, cleanup);
    all.set(key, store);
    return store;
  };
}

type Start = (isSynced: boolean, cleanup: Cleanup) => Promise<Place>;

const start: Readonly<Record<StoreName, Start>> = {
  async redis(isSynced, cleanup) {
    const server = await startServer(cleanup, { appendonly: isSynced });
    return storeAt(server.url, server.pid);
  },

  async postgres(isSynced, cleanup) {
    const settings = { synchronous_commit: isSynced ? "on" : "off" };
    const server = await startPostgresServer({ fsync: isSynced, settings });
    cleanup.defer(() => server.stop());
    const client = new pg.Client(server.connectionString);
    await client.connect();
    await client.query(createTable());
    await client.end();
    return storeAt(server.connectionString, server.pid);
  },

  async mysql(isSynced, cleanup) {
    const server = await startMysqlServer({ settings: { innodb_flush_log_at_trx_commit: isSynced ? 1 : 2 } });
    cleanup.defer(() => server.stop());
    const connection = await mysql.createConnection(server.uri);
    await connection.query(createMysqlTable());
    await connection.query(leaseTable);
    await connection.end();
    return storeAt(server.uri, server.pid);
  },

  async etcd(isSynced, cleanup) {
    // Before 3.5, etcd has no option that turns syncing off.
    const folder = await folderFor(isSynced, cleanup);
    const server = await startEtcdServer({ args: ["--data-dir", join(folder, "data")] });
    cleanup.defer(() => server.stop());
    return storeAt(server.url, server.pid);
  },

  async sqlite(isSynced, cleanup) {
    return storeAt(join(await folderFor(isSynced, cleanup), "locks.db"));
  },
};

/** A store at the URL of its server, or the path of its file. */
function storeAt(address: string, pid?: number): Place {
  const cpuUs = () => (pid === undefined ? Number.NaN : treeCpuUs(pid));
  return {
    addresses: [address],
    async watch() {
      const beforeUs = cpuUs();
      return async () => ({ cpuUs: cpuUs() - beforeUs, bytes: Number.NaN });
    },
  };
}

/** A file system in memory, where a sync costs nothing. */
const memoryFolder = "/dev/shm";

async function folderFor(isSynced: boolean, cleanup: Cleanup): Promise<string> {
  const parent = isSynced || !existsSync(memoryFolder) ? tmpdir() : memoryFolder;
  const folder = await mkdtemp(join(parent, "holdfast-bench-"));
  cleanup.defer(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** `TMPFS_MAGIC` of Linux. */
const tmpfs = 0x01021994;
const syncs = 200;

/** Describes the disk of the stores: a sentence for each property that the figures depend on. */
export async function describeDisk(cleanup: Cleanup): Promise<string[]> {
  const folder = await folderFor(true, cleanup);
  const file = await open(join(folder, "file"), "w");
  const tookMs: number[] = [];
  for (let time = 0; time < syncs; time++) {
    const startMs = performance.now();
    await file.write(Buffer.alloc(4_096), 0, 4_096, 0);
    await file.datasync();
    tookMs.push(performance.now() - startMs);
  }
  await file.close();
  const { low, median, high } = quartilesOf(tookMs);
  const [from, middle, to] = [low, median, high].map((ms) => ms.toFixed(2));
  const notes = [`a write of 4 KB and its sync to the disk takes ${middle} ms (${from} – ${to}) without any store`];
  if ((await statfs(folder)).type === tmpfs)
    notes.push("the temporary folder is in memory: set TMPDIR to one on a disk");
  if (!existsSync(memoryFolder)) notes.push("there is no /dev/shm: etcd and SQLite always sync to the disk");
  return notes;
}
