/** Lock nodes over MySQL and MariaDB. */

export type {
  MysqlCallbackClient,
  MysqlClient,
  MysqlConnection,
  MysqlField,
  MysqlPool,
  MysqlPoolConnection,
  MysqlQuery,
} from "./client.ts";
export { fenced, type RegisterReadOptions, registerRead } from "./fenced.ts";
export { createGuard, type GuardedTable, type GuardOptions, type RemoveGuardOptions, removeGuard } from "./guard.ts";
export { type DeleteUnusedOptions, type MysqlNode, type MysqlNodeOptions, mysqlNode } from "./mysql-node.ts";
export { createTable, type TableOptions } from "./table.ts";
export type { RunStatement, Transaction } from "./transaction.ts";
