/** Starts PostgreSQL servers with all kinds of problems, which stop at the end of the test. */

import { createTable } from "@holdfast/postgres";
import { startTamperingProxy } from "@holdfast/testkit";
import { startPgBouncer } from "@holdfast/testkit/pgbouncer";
import { type PostgresServer, type PostgresSettings, startPostgresServer } from "@holdfast/testkit/postgres-server";
import { startPostgresStandby } from "@holdfast/testkit/postgres-standby";
import pg from "pg";
import { onTestFinished } from "vitest";

/** The settings of a server for the highest level, without findings. */
const healthy: PostgresSettings = { idle_in_transaction_session_timeout: 60_000 };

/** The settings of a user, by name. */
type UserSettings = Readonly<Record<string, string>>;

let shared: Promise<PostgresServer> | undefined;
let pair: ReturnType<typeof startPair> | undefined;
let users = 0;

/** Starts a healthy server with the table of the locks, and these additional settings. */
export async function startDatabase(settings: PostgresSettings = {}): Promise<PostgresServer> {
  const server = await launchDatabase(settings);
  onTestFinished(() => server.stop());
  return server;
}

async function launchDatabase(settings: PostgresSettings = {}): Promise<PostgresServer> {
  const server = await startPostgresServer({ fsync: true, settings: { ...healthy, ...settings } });
  await query(server.connectionString, createTable());
  return server;
}

/** Returns a healthy server that all tests of a file share. {@link stopSharedDatabase} stops it. */
export async function sharedDatabase(): Promise<PostgresServer> {
  shared ??= launchDatabase();
  return shared;
}

/** Returns a healthy server with a standby. {@link stopSharedDatabase} stops both. */
export async function sharedPair(): ReturnType<typeof startPair> {
  pair ??= startPair();
  return pair;
}

async function startPair() {
  const primary = await launchDatabase();
  return { primary, standby: await startPostgresStandby(primary, { synchronous: false }) };
}

/** Stops the shared servers that were started. */
export async function stopSharedDatabase(): Promise<void> {
  await (await shared)?.stop();
  const { primary, standby } = (await pair) ?? {};
  await standby?.stop();
  await primary?.stop();
  [shared, pair] = [undefined, undefined];
}

/** Runs statements, and returns the rows of the last one. */
export async function query(connectionString: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    const results = [await client.query(text)].flat();
    return results.at(-1)?.rows ?? [];
  } finally {
    await client.end();
  }
}

/** Creates a user with privileges on the table and these settings, and returns the address for that user. */
export async function userOf(
  { connectionString }: PostgresServer,
  privileges: string,
  settings: UserSettings = {},
): Promise<string> {
  users += 1;
  const user = `user${users}`;
  const assignments = Object.entries(settings).map(([name, value]) => `ALTER ROLE ${user} SET ${name} = '${value}'`);
  const grant = `GRANT ${privileges} ON holdfast_locks TO ${user}`;
  await query(connectionString, [`CREATE ROLE ${user} LOGIN PASSWORD 'hunter2'`, grant, ...assignments].join(";"));
  return connectionString.replace("//holdfast@", `//${user}:hunter2@`);
}

/** Returns the address of the server behind a PgBouncer in transaction mode. */
export async function pooledUrl(server: PostgresServer): Promise<string> {
  const bouncer = await startPgBouncer(server, { poolMode: "transaction" });
  onTestFinished(() => bouncer.stop());
  return bouncer.connectionString;
}

/** Returns the address of the server behind a proxy that changes its version. */
export async function urlOfVersion(server: PostgresServer, major: number): Promise<string> {
  const proxy = await startTamperingProxy(server.port);
  onTestFinished(() => proxy.stop());
  proxy.tamper = (data) => ({
    data: Buffer.from(data.toString("latin1").replace(/(\D)\d\d(00\d\d\D)/, `$1${major}$2`), "latin1"),
  });
  return server.connectionString.replace(`:${server.port}/`, `:${proxy.port}/`);
}

/** Opens connections that stay open until the end of the test. */
export async function openConnections({ connectionString }: PostgresServer, count: number): Promise<void> {
  for (let each = 0; each < count; each++) {
    const client = new pg.Client({ connectionString });
    client.on("error", () => {});
    await client.connect();
    onTestFinished(() => client.end());
  }
}
