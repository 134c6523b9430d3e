import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import mysql from "mysql2/promise";
import { dataTemplate } from "./data-template.ts";
import { findMysql } from "./find-mysql.ts";
import { controlServer, inServerDirectory, onFreePort } from "./server-process.ts";
import { type ServerUser, serverUser } from "./server-user.ts";

/** Options of {@link startMysqlServer}. */
export interface MysqlServerOptions {
  /** Further settings, such as `{ transaction_isolation: "SERIALIZABLE" }`. */
  readonly settings?: Readonly<Record<string, string | number>>;
}

/** A real MariaDB or MySQL server on 127.0.0.1, with its own temporary directory. */
export type MysqlServer = Awaited<ReturnType<typeof startMysqlServer>>;

const advice = "install a MariaDB server (Debian: apt-get install mariadb-server)";

function template(program: string, isMariaDb: boolean, user: ServerUser): Promise<string> {
  return dataTemplate("mysql", user, async (data, directory) => {
    // A server deletes the temporary tables of others in its directory for them.
    const options = { ...user, cwd: "/", env: { ...process.env, TMPDIR: directory } };
    const execute = (command: string, ...args: string[]) => promisify(execFile)(command, args, options);
    if (isMariaDb) {
      const access = ["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"];
      await execute("mariadb-install-db", "--no-defaults", ...access, "--innodb-log-file-size=4M", `--datadir=${data}`);
    } else await execute(program, "--no-defaults", "--initialize-insecure", `--datadir=${data}`);
  });
}

/**
 * Starts an empty server on a free port, and resolves when it accepts connections. It has a database `holdfast`, and a user
 * `holdfast` with all privileges and no password.
 *
 * @throws {Error} with installation advice if there is no server program, or with the server's log if it does not start
 */
export async function startMysqlServer({ settings = {} }: MysqlServerOptions = {}) {
  const found = await findMysql();
  if (found === undefined) throw new Error(`there is no server: ${advice}`);
  const { program, isMariaDb } = found;
  const user = await serverUser(); // servers refuse to run as root
  return inServerDirectory(user, async (directory) => {
    const data = join(directory, "data");
    await promisify(execFile)("cp", ["-a", await template(program, isMariaDb, user), data], { ...user, cwd: "/" });
    const initFile = await writeInitFile(directory);
    const args = ["--no-defaults", `--datadir=${data}`, `--tmpdir=${directory}`, `--init-file=${initFile}`];
    const own = isMariaDb ? ofMariaDb : ofMysql;
    for (const [name, value] of Object.entries({ ...common, ...own, ...settings })) args.push(`--${name}=${value}`);
    return onFreePort(async (port) => {
      const server = controlServer(directory, () => ({
        command: program,
        args: [...args, `--port=${port}`, `--socket=${directory}/socket`],
        advice,
        user,
        isAnswering: () => isAt(port, directory),
      }));
      await server.restart();
      /** The port on 127.0.0.1, which stays the same, and the address for clients, with user and database. */
      return Object.assign(server, { port, uri: uriOf(port) });
    });
  });
}

/** Small files and little memory, as a test run has many servers. */
const common = {
  bind_address: "127.0.0.1",
  skip_name_resolve: "ON",
  skip_log_bin: "ON",
  performance_schema: "OFF",
  innodb_buffer_pool_size: "32M",
  max_connections: 500,
};
const ofMariaDb = { innodb_log_file_size: "4M" };
const ofMysql = { innodb_redo_log_capacity: "16M", mysqlx: "OFF", secure_file_priv: "NULL" };

async function writeInitFile(directory: string): Promise<string> {
  const path = join(directory, "init.sql");
  const statements = [
    "CREATE DATABASE IF NOT EXISTS holdfast",
    "CREATE USER IF NOT EXISTS holdfast@'127.0.0.1'",
    "GRANT ALL ON *.* TO holdfast@'127.0.0.1' WITH GRANT OPTION",
  ];
  await writeFile(path, statements.map((statement) => `${statement};\n`).join(""));
  return path;
}

function uriOf(port: number): string {
  return `mysql://holdfast@127.0.0.1:${port}/holdfast`;
}

/** Whether the server of this directory answers on the port. */
async function isAt(port: number, directory: string): Promise<boolean> {
  const connection = await mysql.createConnection(uriOf(port));
  try {
    const [rows] = await connection.query<mysql.RowDataPacket[]>("SELECT @@datadir AS path");
    return rows[0]?.path.startsWith(directory);
  } finally {
    connection.destroy();
  }
}
