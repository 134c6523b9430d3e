/** Starts MySQL and MariaDB servers with all kinds of problems, and repairs or stops them at the end of the test. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { createTable } from "@holdfast/mysql";
import { startTamperingProxy } from "@holdfast/testkit";
import { type MysqlServer, startMysqlServer } from "@holdfast/testkit/mysql-server";
import mysql from "mysql2/promise";
import { onTestFinished } from "vitest";

let shared: Promise<MysqlServer> | undefined;
let users = 0;

/** Starts a server with the table of the locks, and these settings. */
export async function startMysql(settings?: Readonly<Record<string, string | number>>): Promise<MysqlServer> {
  const server = await launch(settings);
  onTestFinished(() => server.stop());
  return server;
}

async function launch(settings: Readonly<Record<string, string | number>> = {}): Promise<MysqlServer> {
  const server = await startMysqlServer({ settings });
  await queryMysql(server.uri, createTable());
  return server;
}

/** Returns a healthy server that all tests of a file share. {@link stopSharedMysql} stops it. */
export async function sharedMysql(): Promise<MysqlServer> {
  shared ??= launch();
  return shared;
}

/** Stops the shared server if it was started. */
export async function stopSharedMysql(): Promise<void> {
  await (await shared)?.stop();
  shared = undefined;
}

/** Runs statements, and returns the rows of the last one. */
export async function queryMysql(uri: string, ...statements: readonly string[]): Promise<mysql.RowDataPacket[]> {
  const connection = await mysql.createConnection(uri);
  try {
    let rows: mysql.RowDataPacket[] = [];
    for (const statement of statements) [rows] = await connection.query<mysql.RowDataPacket[]>(statement);
    return rows;
  } finally {
    await connection.end();
  }
}

/** Runs a script by the client program of MariaDB or MySQL. */
export async function runMysqlClient({ port }: MysqlServer, script: string): Promise<void> {
  const args = ["--no-defaults", "--protocol=tcp", "--host=127.0.0.1", `--port=${port}`, "--user=holdfast", "holdfast"];
  const running = promisify(execFile)("mysql", [...args, "--default-character-set=utf8mb4"]);
  running.child.stdin?.end(script);
  await running;
}

/** Sets a global variable of the shared server until the end of the test, and returns the address of the server. */
export async function sharedMysqlWith(name: string, value: number): Promise<string> {
  const { uri } = await sharedMysql();
  const [before] = await queryMysql(uri, `SELECT @@global.${name} AS value`);
  await queryMysql(uri, `SET GLOBAL ${name} = ${value}`);
  onTestFinished(async () => {
    await queryMysql(uri, `SET GLOBAL ${name} = ${before?.value}`);
  });
  return uri;
}

/** Creates a user with privileges on the table, and returns the address for that user. */
export async function mysqlUserOf({ uri }: MysqlServer, privileges: string): Promise<string> {
  users += 1;
  const user = `user${users}`;
  const account = `${user}@'127.0.0.1'`;
  const grant = `GRANT ${privileges} ON holdfast.holdfast_locks TO ${account}`;
  await queryMysql(uri, `CREATE USER ${account} IDENTIFIED BY 'hunter2'`, grant);
  return uri.replace("//holdfast@", `//${user}:hunter2@`);
}

/** Returns the address of a server behind a proxy that replaces the first number of its version by zeros. */
export async function mysqlOfOldVersion({ uri, port }: MysqlServer): Promise<string> {
  const proxy = await startTamperingProxy(port);
  onTestFinished(() => proxy.stop());
  proxy.tamper = (data) => {
    const changed = data.toString("latin1").replaceAll(/\d+(?=\.\d+\.\d+)/g, (major) => "0".repeat(major.length));
    return { data: Buffer.from(changed, "latin1") };
  };
  return uri.replace(`:${port}/`, `:${proxy.port}/`);
}

/** Opens connections that stay open until the end of the test. */
export async function openMysqlConnections(uri: string, count: number): Promise<void> {
  for (let each = 0; each < count; each++) {
    const connection = await mysql.createConnection(uri);
    onTestFinished(() => connection.end());
  }
}
