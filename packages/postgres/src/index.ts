/** Lock nodes over PostgreSQL. */

export type {
  PgClient,
  PgPool,
  PgPoolClient,
  PgQuery,
  PgResult,
  PostgresClient,
  PostgresJs,
  PostgresJsQuery,
  PostgresJsSubscription,
  Value,
} from "./client.ts";
export { fenced, type RegisterReadOptions, registerRead } from "./fenced.ts";
export { createGuard, type GuardedTable, type GuardOptions, type RemoveGuardOptions, removeGuard } from "./guard.ts";
export {
  type DeleteUnusedOptions,
  type PostgresNode,
  type PostgresNodeOptions,
  postgresNode,
} from "./postgres-node.ts";
export { createTable, type TableOptions } from "./table.ts";
export type { PgTransaction, PostgresJsTransaction, RunStatement, Transaction } from "./transaction.ts";
