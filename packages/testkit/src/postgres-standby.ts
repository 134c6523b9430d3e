import { appendFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { firstValue } from "./first-value.ts";
import { launchPostgres, type PostgresServer } from "./postgres-server.ts";

/** Options of {@link startPostgresStandby}. */
export interface PostgresStandbyOptions {
  /** Whether each commit of the primary waits until the standby has it on disk. */
  readonly synchronous: boolean;
}

const timeoutMs = 60_000;

/** A server that replays the log of another one. */
export type PostgresStandby = Awaited<ReturnType<typeof startPostgresStandby>>;

/** Starts a standby of the primary, and resolves when it replicates. */
export async function startPostgresStandby(primary: PostgresServer, { synchronous }: PostgresStandbyOptions) {
  const name = "standby";
  const upstream = `host=127.0.0.1 port=${primary.port} user=holdfast application_name=${name}`;
  const server = await launchPostgres(
    async ({ data, run }) => {
      await run("pg_basebackup", "--pgdata", data, "--dbname", upstream, "--checkpoint=fast", "--no-sync");
      await writeFile(join(data, "standby.signal"), "");
      await appendFile(join(data, "postgresql.auto.conf"), `primary_conninfo = '${upstream}'\n`);
    },
    { fsync: "on", hot_standby: "on" },
  );
  try {
    if (synchronous) await setting(primary, "synchronous_standby_names", name);
    const wanted = synchronous ? "sync" : "async";
    await shows(
      primary,
      "SELECT string_agg(sync_state, ' ') FROM pg_stat_replication WHERE state = 'streaming'",
      wanted,
    );
  } catch (error) {
    await server.stop();
    throw error;
  }
  return {
    ...server,
    /** Stops replication for good. What the primary commits from now on is missing here. */
    async disconnect(): Promise<void> {
      await setting(server, "primary_conninfo", "");
      await shows(server, "SELECT count(*)::text FROM pg_stat_wal_receiver", "0");
    },
    /** Makes the standby a primary, and resolves when it accepts writes. */
    async promote(): Promise<void> {
      await firstValue(server.connectionString, "SELECT pg_promote(true, 60)");
      await shows(server, "SELECT pg_is_in_recovery()::text", "false");
    },
  };
}

/** Changes a setting of a running server. */
async function setting(server: PostgresServer, name: string, value: string): Promise<void> {
  await firstValue(server.connectionString, `ALTER SYSTEM SET ${name} = '${value}'`);
  await firstValue(server.connectionString, "SELECT pg_reload_conf()");
}

async function shows(server: PostgresServer, query: string, wanted: string): Promise<void> {
  let seen: unknown;
  for (const endMs = performance.now() + timeoutMs; performance.now() < endMs; await sleep(20)) {
    seen = await firstValue(server.connectionString, query);
    if (seen === wanted) return;
  }
  throw new Error(`"${query}" returns ${seen} after ${timeoutMs} ms, not ${wanted}`);
}
