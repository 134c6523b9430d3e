import type { Socket } from "node:net";
import type pg from "pg";
import { columnsOf, databaseServer, databaseUrl } from "../database/database-server.ts";
import { BadAddress, connectTimeoutMs, decodePercents, loadDriver, type ServerKind } from "../server.ts";
import { examinePostgres } from "./examine-postgres.ts";
import { listGuards } from "./guards.ts";
import type { PostgresTableFacts } from "./postgres-findings.ts";

/** PostgreSQL, over `pg`. */
export const postgresKind: ServerKind<PostgresAddress> = {
  forms: "postgres://[user:password@]host[:port]/database[?schema=S&table=T&sslmode=M]",
  scheme: /^postgres(ql)?:\/\//i,
  parse: parseAddress,
  async createTable({ schema, table }) {
    const { createTable } = await loadDriver(
      "tables for locks",
      ["@holdfast/postgres"],
      () => import("@holdfast/postgres"),
    );
    return createTable({ schema, table });
  },
  async open(address) {
    const [{ default: driver }, { createTable, postgresNode }] = await loadDriver(
      "postgres:// nodes",
      ["@holdfast/postgres", "pg"],
      () => Promise.all([import("pg"), import("@holdfast/postgres")]),
    );
    const { name, schema, table } = address;
    const config = {
      connectionString: address.connectionString,
      application_name: "holdfast",
      connectionTimeoutMillis: connectTimeoutMs,
      keepAlive: true,
    };
    const pool = new driver.Pool({ ...config, allowExitOnIdle: true });
    pool.on("error", () => {}); // of an idle connection, which is replaced
    const node = postgresNode(pool, { name, schema, table });
    const lookAtTable = () => tableIn(pool, address, columnsOf(createTable()));
    return databaseServer({
      node,
      examine: (options) => examinePostgres(pool, node, lookAtTable, new driver.Client(config), options),
      guards: async () => ({ defaultSchema: "public", tables: await listGuards(pool) }),
      connect: () => pool.connect(),
      onConnect: (listener) => pool.on("connect", (client) => listener(streamOf(client))),
      end: () => pool.end(),
      isSocket: name.startsWith("/"),
      misaddressed: /does not support SSL/,
    });
  },
};

function streamOf(client: pg.PoolClient): Socket | undefined {
  return (client as unknown as { readonly connection?: { readonly stream?: Socket } }).connection?.stream;
}

/** The address of a PostgreSQL database, the login, and the table of the locks. */
export interface PostgresAddress {
  /** The connection string for `pg`, which may contain a password. */
  readonly connectionString: string;
  /** The host or the path of the socket, the port, the database and the table, unless they are the usual ones. */
  readonly name: string;
  readonly schema: string | undefined;
  readonly table: string | undefined;
}

/** The parameters that `pg` reads. */
const parameters = ["host", "sslmode", "sslrootcert", "sslcert", "sslkey", "uselibpqcompat"];
const ownParameters = ["schema", "table"];

function parseAddress(text: string): PostgresAddress {
  const url = databaseUrl(text, [...parameters, ...ownParameters]);
  const host = url.searchParams.get("host") ?? url.hostname;
  if (host === "") throw new BadAddress("names no host");
  const { username, password, pathname } = url;
  const { database } = decodePercents({ username, password, database: pathname.slice(1) });
  const [schema, table] = ownParameters.map((name) => url.searchParams.get(name) ?? undefined);
  for (const name of ownParameters) url.searchParams.delete(name);
  const port = host.startsWith("/") ? "" : `:${url.port || 5432}`;
  const place = schema === undefined && table === undefined ? [] : [[schema, table].filter(Boolean).join(".")];
  return {
    connectionString: url.href,
    name: [`${host}${port}`, ...(database === "" ? [] : [database]), ...place].join("/"),
    schema,
    table,
  };
}

/** Finds a table, whether or not the user may use it. */
const lookup = `
  SELECT c.relpersistence = 'u' AS unlogged,
    array(SELECT attname::text FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) AS columns,
    has_schema_privilege(n.oid, 'USAGE') AS "USAGE", has_table_privilege(c.oid, 'SELECT') AS "SELECT",
    has_table_privilege(c.oid, 'INSERT') AS "INSERT", has_table_privilege(c.oid, 'UPDATE') AS "UPDATE"
  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
  WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind IN ('r', 'p')`;

const privileges = ["USAGE", "SELECT", "INSERT", "UPDATE"];

/** Describes the table of the locks, which should have these columns; null if it does not exist. */
async function tableIn(
  pool: pg.Pool,
  { schema = "public", table = "holdfast_locks" }: Pick<PostgresAddress, "schema" | "table">,
  columns: readonly string[],
): Promise<PostgresTableFacts | null> {
  const { rows } = await pool.query(lookup, [schema, table]);
  const [row] = rows as Readonly<Record<string, unknown>>[];
  if (row === undefined) return null;
  const found = row.columns as readonly string[];
  return {
    isUnlogged: row.unlogged === true,
    missingColumns: columns.filter((column) => !found.includes(column)),
    missingPrivileges: privileges.filter((privilege) => row[privilege] !== true),
  };
}
