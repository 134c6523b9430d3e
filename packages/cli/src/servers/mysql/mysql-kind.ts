import type { Socket } from "node:net";
import type { PoolOptions } from "mysql2/promise";
import { databaseServer } from "../database/database-server.ts";
import { loadDriver } from "../load-driver.ts";
import { connectTimeoutMs, type ServerKind, type TlsOptions } from "../server.ts";
import { examineMysql } from "./examine-mysql.ts";
import { mysqlGuards } from "./guards.ts";
import { type MysqlAddress, mysqlAddresses } from "./mysql-address.ts";
import { mysqlTable } from "./mysql-table.ts";

/** MySQL and MariaDB, over `mysql2`. */
export const mysqlKind: ServerKind<MysqlAddress> = {
  ...mysqlAddresses,
  async load({ tls }) {
    const [{ default: driver }, { createTable, mysqlNode }] = await loadDriver(
      "mysql:// nodes",
      ["@holdfast/mysql", "mysql2"],
      () => Promise.all([import("mysql2/promise"), import("@holdfast/mysql")]),
    );
    return (address) => {
      const { name, socketPath, database, table: tableName } = address;
      const pool = driver.createPool(configOf(address, tls));
      const node = mysqlNode(pool, { name, table: tableName });
      const table = mysqlTable(pool, address, createTable({ table: tableName }));
      const server = databaseServer({
        node,
        table,
        examine: (options) => examineMysql({ pool, node, table }, options),
        connect: () => pool.getConnection(),
        onConnect: (listener) =>
          pool.on("connection", (client) => listener((client as unknown as { readonly stream?: Socket }).stream)),
        end: () => pool.end(),
        isSocket: socketPath !== undefined,
        misaddressed: /does not support secure connection/,
      });
      return { ...server, guards: mysqlGuards(pool, database) };
    };
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
