import type { Lock } from "@holdfast/core";
import {
  assertDeleteUnused,
  assertOptions,
  checkType,
  closedError,
  type Floor,
  type FloorRequest,
  type LockNode,
  type ScanPortion,
  type ScanRequest,
  ServerCheck,
} from "@holdfast/core/node";
import { Claims } from "./claims.ts";
import { databaseOf, type PostgresClient } from "./client.ts";
import { Notifications } from "./notifications.ts";
import { deletionOf, pageSize, statementsOver } from "./statements.ts";
import {
  arrayOf,
  asciiOf,
  digestOf,
  qualifiedName,
  resourceOf,
  storedName,
  type TableOptions,
  tableOptions,
} from "./table.ts";
import { runIn, type Transaction } from "./transaction.ts";

/** The options of {@link postgresNode}. */
export interface PostgresNodeOptions extends TableOptions {
  /** The node's name in errors, events and logs. Default `postgres`. */
  readonly name?: string | undefined;
  /**
   * Whether releases wake waiting clients, over one more connection that is open while somebody waits. Without it, they
   * retry after a back-off. Default true.
   */
  readonly wakeUps?: boolean | undefined;
  /**
   * A client that connects to the server directly, if `client` goes through a pooler: for notifications. Default:
   * `client`.
   */
  readonly listener?: PostgresClient | undefined;
  /**
   * Whether a server that another node of the same `Redlock` uses is refused, as it must not vote twice. Switch it off for
   * tests that put several nodes on one server. Default true.
   */
  readonly verifyServer?: boolean | undefined;
}

/** See {@link PostgresNode.deleteUnused}. */
export interface DeleteUnusedOptions {
  /** How long a resource was not claimed, in milliseconds: an integer of at least a minute. */
  readonly unusedForMs: number;
}

/** A lock node over a table of a PostgreSQL database. */
export interface PostgresNode
  extends Required<Omit<LockNode, "watch" | "raiseFloor" | "scan">>,
    Pick<LockNode, "watch"> {
  /**
   * Resolves with whether the lock is held, and if so, keeps it held until the end of this transaction: nobody else gets
   * any of its resources before that, however long the transaction takes, whether the ttl ends meanwhile, and whatever
   * clocks say. A shared lock keeps out those that want a resource alone. Roll back if it resolves with false. Only for a
   * `Redlock` over this node alone, and data in the same database.
   *
   * Call it first in the transaction, before any savepoint: `ROLLBACK TO SAVEPOINT` undoes a call that came after the
   * savepoint, and another owner may get the lock. It needs `UPDATE` on the table. Above `READ COMMITTED`, it fails with
   * a serialization error if another claim was granted since the snapshot of the transaction.
   *
   * @param transaction the client of a transaction of `pg` (after `BEGIN`), the `sql` of a transaction of postgres.js, or
   *   a function that runs a statement in a transaction, for all other libraries
   * @param lock the lock
   * @throws {TypeError} if this is not a transaction, as the lock would end with the statement, or if it is `READ ONLY`
   *
   * @example
   * ```ts
   * import type { Lock } from "@holdfast/core";
   * import type { PostgresNode } from "@holdfast/postgres";
   * import type { PoolClient } from "pg";
   *
   * async function pay(node: PostgresNode, lock: Lock, client: PoolClient): Promise<void> {
   *   await client.query("BEGIN");
   *   if (await node.holds(client, lock)) {
   *     await client.query("UPDATE invoices SET paid = true WHERE id = 42");
   *     await client.query("COMMIT");
   *   } else {
   *     await client.query("ROLLBACK");
   *   }
   * }
   * ```
   */
  holds(transaction: Transaction, lock: Pick<Lock, "resources" | "owner" | "fence">): Promise<boolean>;
  /**
   * See `FenceFloor` of `@holdfast/core`. Waits for the claims in progress, and holds up new ones; rejects (SQLSTATE 55P03)
   * and changes nothing if a claim takes longer than `timeoutMs`, and may then be called again.
   */
  raiseFloor(request: FloorRequest): Promise<Floor>;
  /**
   * See `FenceFloor` of `@holdfast/core`. Of names that are longer than about a thousand characters, it reports the
   * beginning and an ellipsis. Rejects on a standby server.
   */
  scan(request: ScanRequest): Promise<ScanPortion>;
  /**
   * Lists the resources that are held at the moment, page by page, in no particular order. Names that are longer than
   * about a thousand characters are left out, because the table does not store the whole of them. Rejects on a standby
   * server.
   *
   * @example
   * ```ts
   * import { postgresNode } from "@holdfast/postgres";
   * import { Pool } from "pg";
   *
   * const node = postgresNode(new Pool({ connectionString: "postgres://localhost/app" }));
   * for await (const resource of node.list()) console.log(resource);
   * ```
   */
  list(): AsyncIterable<string>;
  /**
   * Deletes the rows of resources that nobody has claimed for some time, and resolves with their number. Keeps the
   * highest of their fence counters for all of them, so that no counter ever goes down.
   * Waits up to 200 ms for claims in progress, and holds up new ones; rejects (SQLSTATE 55P03) if a claim takes longer, and
   * may then be called again.
   *
   * @throws {TypeError | RangeError} for bad options
   *
   * @example
   * ```ts
   * import { postgresNode } from "@holdfast/postgres";
   * import { Pool } from "pg";
   *
   * const node = postgresNode(new Pool({ connectionString: "postgres://localhost/app" }));
   * while ((await node.deleteUnused({ unusedForMs: 30 * 24 * 3_600_000 })) > 0);
   * ```
   */
  deleteUnused(options: DeleteUnusedOptions): Promise<number>;
}

/** No claim takes longer, so that none still works with what it has read before a row was deleted. */
/** About a thousand years, in milliseconds: timestamps of PostgreSQL do not reach much further back. */
const millenniumMs = 1_000 * 365 * 86_400_000;

/** How long `list` waits for a connection, in milliseconds. */
const listTimeoutMs = 10_000;

/** Replies took up to 58 ms at the 99th percentile on a small machine with `fsync`, and a checkpoint takes longer. */
const suggestedTimeoutMs = 250;

/**
 * Creates a lock node over a table of a PostgreSQL database; {@link createTable} returns the statement that creates it.
 * The node uses connections of the client, each for one statement at a time, and never closes the client.
 *
 * The server's clock ends claims. A failover keeps claims and fence counters only if replication is synchronous.
 *
 * @param client a `Pool` of `pg`; or a `Client` of `pg` that does nothing else; or an instance of postgres.js
 * @param options see {@link PostgresNodeOptions}
 * @throws {TypeError | RangeError} naming the bad argument
 *
 * @example
 * ```ts
 * import { Redlock } from "@holdfast/core";
 * import { postgresNode } from "@holdfast/postgres";
 * import { Pool } from "pg";
 *
 * const pool = new Pool({ connectionString: "postgres://localhost/app" });
 * const node = postgresNode(pool, { schema: "app", table: "locks" });
 * const redlock = new Redlock([node]);
 * ```
 */
export function postgresNode(client: PostgresClient, options: PostgresNodeOptions = {}): PostgresNode {
  assertOptions(options, ["name", "wakeUps", "listener", "verifyServer", ...tableOptions], "postgresNode");
  const { name = "postgres", wakeUps = true, listener = client, verifyServer = true } = options;
  checkType("name", "string", name);
  checkType("wakeUps", "boolean", wakeUps);
  checkType("verifyServer", "boolean", verifyServer);
  const table = qualifiedName(options);
  const database = databaseOf("client", client);
  const source = listener === client ? database : databaseOf("listener", listener);
  const channel = `holdfast_${digestOf(table).slice(0, 32)}`;
  const statements = statementsOver(table, channel);
  const claims = new Claims(database, table, statements);
  const check = verifyServer ? new ServerCheck(name, (request) => claims.identify(request)) : undefined;
  const notifications = new Notifications({
    listen: (onMessage, onEnd) => source.listen(channel, onMessage, onEnd),
    send: (payload) => claims.run({ name: "", text: "SELECT pg_notify($1, $2)" }, [channel, payload]),
    announce: (names) => claims.run(statements.watch, [arrayOf(names)]),
  });
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
    ...(wakeUps && {
      watch: (resources, onReleased) => notifications.watch(resources.map(storedName), resources, onReleased),
    }),
    async close() {
      isClosed = true;
      await notifications.close();
    },
    async holds(transaction, { resources, owner, fence }) {
      const values = [arrayOf(resources.map(storedName)), asciiOf(owner), fence];
      const rows = await runIn(transaction, statements.holds, values);
      return rows.length === resources.length;
    },
    async *list() {
      await claims.raiseFloor({ floor: 0, epoch: 0, timeoutMs: listTimeoutMs }); // raises nothing; rejects on a standby
      for (let last: string | undefined = ""; last !== undefined; ) {
        const names: string[] = (await claims.run(statements.list, [last])).map(([stored]) => stored as string);
        yield* names.map(resourceOf).filter((resource) => resource !== undefined);
        last = names.length < pageSize ? undefined : names.at(-1);
      }
    },
    async deleteUnused(given) {
      assertDeleteUnused(given);
      const [[count] = []] = await database.script(deletionOf(table, Math.min(given.unusedForMs, millenniumMs)));
      return Number(count);
    },
  };
}
