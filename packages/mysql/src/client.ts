import { ConfigurationError, NotSentError } from "@holdfast/core";

/** A row of a result: its values as bytes, in the order of the statement's columns. */
export type Row = readonly (Buffer | null)[];

/** A statement, as `mysql2` takes it. */
export interface MysqlQuery {
  /** The text. */
  sql: string;
  /** Makes rows arrays. */
  rowsAsArray: true;
  /** Keeps them flat. */
  nestTables: false;
  /** Converts a value. */
  typeCast(field: MysqlField): Buffer | null;
  /** How long the server may be silent, in milliseconds. */
  timeout: number;
}

/** A value of a result. */
export interface MysqlField {
  /** Returns its bytes. */
  buffer(): Buffer | null;
}

/** A connection of `mysql2/promise`. */
export interface MysqlConnection {
  /** Runs a statement. */
  query(query: MysqlQuery): Promise<[unknown, unknown]>;
  /** Closes it. */
  destroy?(): void;
}

/** A connection that was checked out from a {@link MysqlPool}. */
export interface MysqlPoolConnection extends MysqlConnection {
  /** Returns the connection to the pool. */
  release(): void;
  /** Closes it. */
  destroy(): void;
}

/** A pool of `mysql2/promise`. */
export interface MysqlPool {
  /** Checks out a connection. */
  getConnection(): Promise<MysqlPoolConnection>;
}

/** A client of `mysql2` itself, with callbacks. */
export interface MysqlCallbackClient<Client extends MysqlPool | MysqlConnection> {
  /** Returns the same client of `mysql2/promise`. */
  promise(): Client;
}

/** A client of a server: a pool, or a connection that does nothing else, of `mysql2/promise` or of `mysql2`. */
export type MysqlClient =
  | MysqlPool
  | MysqlConnection
  | MysqlCallbackClient<MysqlPool>
  | MysqlCallbackClient<MysqlConnection>;

/** The result of a statement that writes. */
export interface Written {
  readonly affectedRows: number;
  /** The argument of `LAST_INSERT_ID(…)`; 0 if the statement did not call it. */
  readonly insertId: number;
}

/** One client, as the node uses it. */
export interface Database {
  /** Runs a statement that reads, and returns its rows. Rejects like {@link write}. */
  read(text: string, sendWithinMs: number): Promise<readonly Row[]>;
  /**
   * Runs a statement that writes and commits. Rejects without having sent it if no connection is free within
   * `sendWithinMs`, so that nothing runs that the caller has given up on.
   */
  write(text: string, sendWithinMs: number): Promise<Written>;
  /** Runs work in a transaction, which it rolls back if the work rejects. */
  transaction<T>(work: (run: (text: string) => Promise<unknown>) => Promise<T>, sendWithinMs: number): Promise<T>;
}

/** How long the server may take to reply before the connection is closed, in milliseconds. */
const replyTimeoutMs = 10_000;

/** The bit of a server status that says that a transaction is open. */
const inTransaction = 1;
const autocommits = 2;

interface Header extends Written {
  readonly serverStatus: number;
}

/**
 * Recognizes the client.
 *
 * @throws {TypeError} if it is no client of `mysql2`
 */
export function databaseOf(client: MysqlClient): Database {
  const given = promised(client);
  if ((given.of ?? given.poolNamespace ?? given._cluster) === undefined) {
    if (typeof given.getConnection === "function") return over(given as MysqlPool);
    if (typeof given.query === "function") return over(poolOfOne(given as MysqlConnection));
  }
  throw new TypeError("client must be a pool or a connection of mysql2");
}

/** Parts of clients that tell them apart. */
interface Parts extends Partial<MysqlPool & MysqlConnection> {
  /** Of a `PoolCluster`, whose servers are several, and of what its method `of` returns. */
  readonly of?: unknown;
  readonly poolNamespace?: unknown;
  readonly _cluster?: unknown;
}

/** Returns the client of `mysql2/promise` that belongs to one of `mysql2`, and any other as it is. */
export function promised(client: unknown): Parts {
  const { promise } = Object(client) as { readonly promise?: unknown };
  return Object(typeof promise === "function" ? promise.call(client) : client);
}

/** Runs a statement. Options of the client that change results are overruled. */
export async function run(connection: MysqlConnection, sql: string): Promise<unknown> {
  const options = { rowsAsArray: true, nestTables: false, typeCast: bytesOfField, timeout: replyTimeoutMs } as const;
  const [result] = await connection.query({ sql, ...options });
  return result;
}

function bytesOfField(field: MysqlField): Buffer | null {
  return field.buffer();
}

/** Whether a transaction is open on a connection. */
export async function isInTransaction(connection: MysqlConnection): Promise<boolean> {
  const { serverStatus } = (await run(connection, "DO 0")) as Header;
  return (serverStatus & inTransaction) !== 0;
}

function over(pool: MysqlPool): Database {
  const lend = async <T>(work: (connection: MysqlConnection) => Promise<T>, sendWithinMs: number): Promise<T> => {
    const startMs = performance.now();
    const connection = await pool.getConnection();
    if (performance.now() - startMs > sendWithinMs) {
      connection.release();
      throw new NotSentError(`no connection was free within ${Math.round(sendWithinMs)} ms`);
    }
    let isUsable = false;
    try {
      const result = await work(connection);
      isUsable = true;
      return result;
    } catch (error) {
      isUsable = isOfStatement(error);
      throw error;
    } finally {
      if (isUsable) connection.release();
      else connection.destroy();
    }
  };
  return {
    read: (text, sendWithinMs) =>
      lend(async (connection) => (await run(connection, text)) as readonly Row[], sendWithinMs),
    write: (text, sendWithinMs) =>
      lend(async (connection) => {
        const header = (await run(connection, text)) as Header;
        if ((header.serverStatus & inTransaction) !== 0) throw uncommitted();
        return header;
      }, sendWithinMs),
    transaction: (work, sendWithinMs) =>
      lend(async (connection) => {
        await run(connection, "START TRANSACTION");
        try {
          const result = await work((text) => run(connection, text));
          await run(connection, "COMMIT");
          return result;
        } catch (error) {
          if (isOfStatement(error)) await run(connection, "ROLLBACK");
          throw error;
        }
      }, sendWithinMs),
  };
}

/** Lends a connection to one caller at a time, as its own queue would still send what was given up. */
function poolOfOne(connection: MysqlConnection): MysqlPool {
  let free = Promise.resolve();
  return {
    async getConnection() {
      const turn = free;
      let release = (): void => {};
      free = new Promise((resolve) => {
        release = resolve;
      });
      await turn;
      try {
        const { serverStatus } = (await run(connection, "DO 0")) as Header;
        if ((serverStatus & inTransaction) !== 0 || (serverStatus & autocommits) === 0) throw uncommitted();
      } catch (error) {
        release();
        throw error;
      }
      const destroy = (): void => {
        connection.destroy?.();
        release();
      };
      return { query: (query) => connection.query(query), release, destroy };
    },
  };
}

/** The error of a client whose statements do not commit by themselves. */
export function uncommitted(): ConfigurationError {
  const reason = "the client has a transaction open, or autocommit is off: claims must commit at once";
  return new ConfigurationError(reason, []);
}

/** Whether this is an error message of the server about a statement, after which the connection is intact. */
export function isOfStatement(error: unknown): boolean {
  const { sqlState, fatal } = Object(error) as { readonly sqlState?: unknown; readonly fatal?: unknown };
  return typeof sqlState === "string" && fatal !== true && !/^(08|70)/.test(sqlState);
}

/** Returns the number of an error message of the server; 0 for other errors. Many libraries wrap it in one of their own. */
export function numberOf(error: unknown): number {
  const { cause, meta } = Object(error) as { readonly cause?: unknown; readonly meta?: unknown };
  const ofPrisma = Object(meta).driverAdapterError?.cause;
  for (const each of [error, cause, ofPrisma]) {
    const number = Number(Object(each).errno ?? Object(each).originalCode);
    if (number > 0) return number;
  }
  return 0;
}
