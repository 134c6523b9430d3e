import type { Lock } from "@holdfast/core";
import {
  assertDeleteUnused,
  assertOptions,
  checkType,
  closedError,
  type LockNode,
  ServerCheck,
} from "@holdfast/core/node";
import { Claims } from "./claims.ts";
import { databaseOf, type MysqlClient } from "./client.ts";
import { pageSize, statementsOver } from "./statements.ts";
import { qualifiedName, resourceOf, storedName, type TableOptions, tableOptions } from "./table.ts";
import { holdsIn, type Transaction } from "./transaction.ts";

/** The options of {@link mysqlNode}. */
export interface MysqlNodeOptions extends TableOptions {
  /** The node's name in errors, events and logs. Default `mysql`. */
  readonly name?: string | undefined;
  /**
   * Whether a server that another node of the same `Redlock` uses is refused, as it must not vote twice. Switch it off for
   * tests that put several nodes on one server. Default true.
   */
  readonly verifyServer?: boolean | undefined;
}

/** See {@link MysqlNode.deleteUnused}. */
export interface DeleteUnusedOptions {
  /** How long a resource was not claimed, in milliseconds: an integer of at least a minute. */
  readonly unusedForMs: number;
}

/** A lock node over a table of a MySQL or MariaDB database. */
export interface MysqlNode extends Required<Omit<LockNode, "watch">> {
  /**
   * Resolves with whether the lock is held, and if so, keeps it held until the end of this transaction: nobody else gets
   * any of its resources before that, however long the transaction takes, whether the ttl ends meanwhile, and whatever
   * clocks say. A shared lock keeps out those that want a resource alone. Roll back if it resolves with false. Only for a
   * `Redlock` over this node alone, and data on the same server.
   *
   * Call it first in the transaction, before any savepoint: `ROLLBACK TO SAVEPOINT` may undo a call that came after the
   * savepoint, and another owner may get the lock. At `SERIALIZABLE`, the lock can be neither extended nor released during
   * the transaction.
   *
   * @param transaction a connection of `mysql2` or `mysql2/promise` after `START TRANSACTION`, or a function that runs a
   *   statement in a transaction, for all other libraries
   * @param lock the lock
   * @throws {TypeError} if this is not a transaction, as the lock would end with the statement
   *
   * @example
   * ```ts
   * import type { Lock } from "@holdfast/core";
   * import type { MysqlNode } from "@holdfast/mysql";
   * import type { PoolConnection } from "mysql2/promise";
   *
   * async function pay(node: MysqlNode, lock: Lock, connection: PoolConnection): Promise<void> {
   *   await connection.beginTransaction();
   *   if (await node.holds(connection, lock)) {
   *     await connection.query("UPDATE invoices SET paid = true WHERE id = 42");
   *     await connection.commit();
   *   } else {
   *     await connection.rollback();
   *   }
   * }
   * ```
   */
  holds(transaction: Transaction, lock: Pick<Lock, "resources" | "owner" | "fence">): Promise<boolean>;
  /**
   * Lists the resources that are held at the moment, page by page, in no particular order. Names that are longer than a
   * thousand bytes are left out, because the table does not store the whole of them. Rejects on a read-only server.
   *
   * @example
   * ```ts
   * import { mysqlNode } from "@holdfast/mysql";
   * import { createPool } from "mysql2/promise";
   *
   * const node = mysqlNode(createPool("mysql://localhost/app"));
   * for await (const resource of node.list()) console.log(resource);
   * ```
   */
  list(): AsyncIterable<string>;
  /**
   * Deletes the rows of resources that nobody has claimed for some time, up to a thousand, and resolves with their number.
   * Raises the floor to the highest of their fence counters, so that no counter ever goes down. Holds up new claims
   * meanwhile.
   *
   * @throws {TypeError | RangeError} for bad options
   *
   * @example
   * ```ts
   * import { mysqlNode } from "@holdfast/mysql";
   * import { createPool } from "mysql2/promise";
   *
   * const node = mysqlNode(createPool("mysql://localhost/app"));
   * while ((await node.deleteUnused({ unusedForMs: 30 * 24 * 3_600_000 })) > 0);
   * ```
   */
  deleteUnused(options: DeleteUnusedOptions): Promise<number>;
}

/** A commit waits for the disk. */
const suggestedTimeoutMs = 250;

/**
 * Creates a lock node over a table of a MySQL or MariaDB database; {@link createTable} returns the statement that creates
 * it. The node uses connections of the client, each for one statement at a time, and never closes the client.
 *
 * The server's clock ends claims. A failover keeps claims and fence counters only if replication is synchronous.
 *
 * @param client a pool of `mysql2` or `mysql2/promise`; or a connection that does nothing else
 * @param options see {@link MysqlNodeOptions}
 * @throws {TypeError | RangeError} naming the bad argument
 *
 * @example
 * ```ts
 * import { Redlock } from "@holdfast/core";
 * import { mysqlNode } from "@holdfast/mysql";
 * import { createPool } from "mysql2/promise";
 *
 * const pool = createPool("mysql://localhost/app");
 * const node = mysqlNode(pool, { table: "locks" });
 * const redlock = new Redlock([node]);
 * ```
 */
export function mysqlNode(client: MysqlClient, options: MysqlNodeOptions = {}): MysqlNode {
  assertOptions(options, ["name", "verifyServer", ...tableOptions], "mysqlNode");
  const { name = "mysql", verifyServer = true } = options;
  checkType("name", "string", name);
  checkType("verifyServer", "boolean", verifyServer);
  const table = qualifiedName(options);
  const statements = statementsOver(table);
  const claims = new Claims(databaseOf(client), table, statements);
  const check = verifyServer ? new ServerCheck(name, (request) => claims.identify(request)) : undefined;
  let isClosed = false;
  return {
    name,
    suggestedTimeoutMs,
    verifiesServer: verifyServer,
    async acquire(request) {
      if (isClosed) throw closedError(request.resources);
      const send = () => claims.acquire(request);
      return check ? check.vote(request, send) : send();
    },
    extend: (request) => claims.extend(request),
    release: (request) => claims.release(request),
    inspect: (resource) => claims.inspect(resource),
    raiseFloor: (request) => claims.raiseFloor(request),
    scan: (request) => claims.scan(request),
    close() {
      isClosed = true;
    },
    holds: (transaction, { resources, owner, fence }) =>
      holdsIn(transaction, statements, resources.map(storedName), { owner, fence }),
    async *list() {
      for (let last: Buffer | undefined = Buffer.alloc(0); last !== undefined; ) {
        const names: readonly Buffer[] = await claims.list(last);
        yield* names.map(resourceOf).filter((resource) => resource !== undefined);
        last = names.length < pageSize ? undefined : names.at(-1);
      }
    },
    async deleteUnused(given) {
      assertDeleteUnused(given);
      return claims.deleteUnused(given.unusedForMs);
    },
  };
}
