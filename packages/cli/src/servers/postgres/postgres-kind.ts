import type { Socket } from "node:net";
import type pg from "pg";
import { databaseServer } from "../database/database-server.ts";
import { loadDriver } from "../load-driver.ts";
import { connectTimeoutMs, type ServerKind } from "../server.ts";
import { examinePostgres } from "./examine-postgres.ts";
import { postgresGuards } from "./guards.ts";
import { type PostgresAddress, postgresAddresses } from "./postgres-address.ts";
import { postgresTable } from "./postgres-table.ts";

/** PostgreSQL, over `pg`. */
export const postgresKind: ServerKind<PostgresAddress> = {
  ...postgresAddresses,
  async load() {
    const [{ default: driver }, { createTable, postgresNode }] = await loadDriver(
      "postgres:// nodes",
      ["@holdfast/postgres", "pg"],
      () => Promise.all([import("pg"), import("@holdfast/postgres")]),
    );
    return (address) => {
      const { name, schema, table: tableName } = address;
      const config = configOf(address);
      const pool = new driver.Pool({ ...config, allowExitOnIdle: true });
      pool.on("error", () => {}); // of an idle connection, which is replaced
      const node = postgresNode(pool, { name, schema, table: tableName });
      const table = postgresTable(pool, address, createTable({ schema, table: tableName }));
      const server = databaseServer({
        node,
        table,
        examine: (options) =>
          examinePostgres({ pool, node, table, newClient: () => new driver.Client(config) }, options),
        connect: () => pool.connect(),
        onConnect: (listener) => pool.on("connect", (client) => listener(streamOf(client))),
        end: () => pool.end(),
        isSocket: name.startsWith("/"),
        misaddressed: /does not support SSL/,
      });
      return { ...server, guards: postgresGuards(pool) };
    };
  },
};

function streamOf(client: pg.PoolClient): Socket | undefined {
  return (client as unknown as { readonly connection?: { readonly stream?: Socket } }).connection?.stream;
}

function configOf({ connectionString }: PostgresAddress): pg.ClientConfig {
  return {
    connectionString,
    application_name: "holdfast",
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
  };
}
