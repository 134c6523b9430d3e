import type { Socket } from "node:net";
import type { Pool, PoolOptions, RowDataPacket } from "mysql2/promise";
import { columnsOf, databaseServer, databaseUrl, type TableFacts } from "../database/database-server.ts";
import {
  BadAddress,
  connectTimeoutMs,
  decodePercents,
  loadDriver,
  type ServerKind,
  type TlsOptions,
} from "../server.ts";
import { examineMysql } from "./examine-mysql.ts";
import { listGuards } from "./guards.ts";

/** MySQL and MariaDB, over `mysql2`. */
export const mysqlKind: ServerKind<MysqlAddress> = {
  forms: "mysql://[user:password@]host[:port]/database[?table=T&ssl-mode=M]",
  scheme: /^(mysql|mariadb):\/\//i,
  parse: parseAddress,
  async createTable({ table }) {
    const { createTable } = await loadDriver("tables for locks", ["@holdfast/mysql"], () => import("@holdfast/mysql"));
    return createTable({ table });
  },
  async open(address, { tls }) {
    const [{ default: driver }, { createTable, mysqlNode }] = await loadDriver(
      "mysql:// nodes",
      ["@holdfast/mysql", "mysql2"],
      () => Promise.all([import("mysql2/promise"), import("@holdfast/mysql")]),
    );
    const { name, socketPath, database, table } = address;
    const pool = driver.createPool(configOf(address, tls));
    const node = mysqlNode(pool, { name, table });
    const lookAtTable = () => tableIn(pool, database, table, columnsOf(createTable()));
    return databaseServer({
      node,
      examine: (options) => examineMysql(pool, node, lookAtTable, options),
      guards: async () => ({ defaultSchema: database, tables: await listGuards(pool) }),
      connect: () => pool.getConnection(),
      onConnect: (listener) =>
        pool.on("connection", (client) => listener((client as unknown as { readonly stream?: Socket }).stream)),
      end: () => pool.end(),
      isSocket: socketPath !== undefined,
      misaddressed: /does not support secure connection/,
    });
  },
};

function configOf(address: MysqlAddress, tls: TlsOptions): PoolOptions {
  const { host, port, socketPath, user, password, database, sslMode } = address;
  return {
    host,
    port,
    ...(socketPath !== undefined && { socketPath }),
    user,
    password,
    database,
    connectTimeout: connectTimeoutMs,
    ...(sslMode !== "DISABLED" && {
      ssl: {
        ...tls,
        rejectUnauthorized: sslMode !== "REQUIRED",
        verifyIdentity: sslMode === "VERIFY_IDENTITY",
      },
    }),
  };
}

/** The address of a MySQL or MariaDB database, the login, and the table of the locks. */
export interface MysqlAddress {
  readonly host: string;
  readonly port: number;
  /** The path of a Unix domain socket, instead of the host and the port. */
  readonly socketPath: string | undefined;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly table: string | undefined;
  /** Whether connections are encrypted, and what of the server's certificate is checked. */
  readonly sslMode: SslMode;
  /** The host or the path of the socket, the port, the database and the table, unless it is the usual one. */
  readonly name: string;
}

const sslModes = ["DISABLED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"] as const;

/** One of MySQL's words for the encryption of connections. */
export type SslMode = (typeof sslModes)[number];

const parameters = ["socket", "ssl-mode", "table"];

function parseAddress(text: string): MysqlAddress {
  const { hostname, password, pathname, port, searchParams, username } = databaseUrl(text, parameters);
  const [socketPath, mode = "DISABLED", table] = parameters.map((name) => searchParams.get(name) ?? undefined);
  const sslMode = sslModes.find((each) => each === mode.toUpperCase());
  if (sslMode === undefined) throw new BadAddress(`has an unknown ssl-mode: it is one of ${sslModes.join(", ")}`);
  if (hostname === "" && socketPath === undefined) throw new BadAddress("names no host");
  const decoded = decodePercents({ user: username, password, database: pathname.slice(1) });
  if (decoded.database === "") throw new BadAddress("names no database");
  const place = socketPath ?? `${hostname}:${port || 3306}`;
  return {
    ...decoded,
    host: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port || 3306),
    socketPath,
    table,
    sslMode,
    name: [place, decoded.database, ...(table === undefined ? [] : [table])].join("/"),
  };
}

/** Lists the columns on which the user has privileges, with these. */
const lookup = `
  SELECT column_name AS name, privileges AS privileges FROM information_schema.columns WHERE table_schema = ? AND table_name = ?`;

const privileges = ["SELECT", "INSERT", "UPDATE"];

/** Describes the table of the locks, which should have these columns; null if it does not exist. */
async function tableIn(
  pool: Pool,
  database: string,
  table = "holdfast_locks",
  columns: readonly string[],
): Promise<TableFacts | null> {
  const [rows] = await pool.query<RowDataPacket[]>(lookup, [database, table]);
  if (rows.length === 0) return null;
  const found = rows.map(({ name }) => String(name));
  const has = (privilege: string): boolean =>
    rows.every((row) => String(row.privileges).toUpperCase().split(",").includes(privilege));
  return {
    missingColumns: columns.filter((column) => !found.includes(column)),
    missingPrivileges: privileges.filter((privilege) => !has(privilege)),
  };
}
