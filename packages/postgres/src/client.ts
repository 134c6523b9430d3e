import { ConfigurationError } from "@holdfast/core";
import { timerMaxMs } from "@holdfast/core/node";
import type { Statement } from "./statements.ts";

/** A value of a statement. */
export type Value = string | number | boolean | null;

/** A row of a result: its values as text, in the order of the statement's columns. */
export type Row = readonly (string | null)[];

/** A `Pool` of `pg`, or of a library with the same interface. */
export interface PgPool {
  /** How many connections are open. */
  readonly totalCount: number;
  /** Checks out a connection. */
  connect(callback: (error: Error | undefined, client: PgPoolClient | undefined) => void): void;
}

/** A connection that was checked out from a {@link PgPool}. */
export interface PgPoolClient {
  /** Runs a statement. */
  query(query: PgQuery): Promise<PgResult>;
  /** Returns the connection to the pool, or closes it. */
  release(destroy?: boolean): void;
  /** Adds a listener for errors of the connection. */
  on(event: "error", listener: (error: Error) => void): unknown;
  /** Removes it. */
  removeListener(event: "error", listener: (error: Error) => void): unknown;
}

/** A connected `Client` of `pg` that does nothing else. It must not be in a transaction. */
export interface PgClient {
  /** Runs a statement. */
  query(query: PgQuery): Promise<PgResult>;
}

/** The result of a query of `pg`. */
export interface PgResult {
  /** The rows. */
  readonly rows: unknown[];
}

/** A query of `pg`. */
export interface PgQuery {
  /** The statement. */
  text: string;
  /** Its parameters. */
  values?: Value[];
  /** The name of the prepared statement. */
  name?: string;
  /** Makes rows arrays. */
  rowMode: "array";
}

/** An instance of postgres.js: what `postgres(…)` returns. */
export interface PostgresJs {
  /** Runs a statement. */
  unsafe(text: string, values?: Value[], options?: { prepare?: boolean }): PostgresJsQuery;
  /** Subscribes to a channel. */
  listen(channel: string, onNotify: (payload: string) => void): Promise<PostgresJsSubscription>;
}

/** A subscription of postgres.js. */
export interface PostgresJsSubscription {
  /** Ends it. */
  unlisten(): Promise<void>;
}

/** A query of postgres.js. */
export interface PostgresJsQuery {
  /** Makes rows arrays. */
  values(): PromiseLike<unknown>;
}

/** A client of a PostgreSQL server: a `Pool` or a `Client` of `pg`, or an instance of postgres.js. */
export type PostgresClient = PgPool | PgClient | PostgresJs;

/** One client library, as the node uses it. */
export interface Database {
  /**
   * Runs a statement. Rejects without having sent it if no connection is free within `sendWithinMs`, so that nothing runs
   * that the caller has given up on.
   */
  query(statement: Statement, values: readonly Value[], sendWithinMs: number): Promise<readonly Row[]>;
  /** Runs several statements as one transaction, and returns the rows of the last one. */
  script(text: string): Promise<readonly Row[]>;
  /** Opens a connection that listens to a channel. `onEnd` is called once, when it has ended by itself. */
  listen(channel: string, onNotify: (payload: string) => void, onEnd: () => void): Promise<() => Promise<void>>;
}

/** How long the connection for notifications may take to open and to end before it is cut, in milliseconds. */
const openTimeoutMs = 5_000;
const endTimeoutMs = 500;

/** How long the server may take to reply before the connection is closed, in milliseconds. */
const replyTimeoutMs = 10_000;

/**
 * Recognizes the client library.
 *
 * @throws {TypeError} if this is no such client, or a transaction of one
 */
export function databaseOf(name: string, client: PostgresClient): Database {
  const given = Object(client) as Partial<PgPool & PgClient & PostgresJs & Settings>;
  if (typeof given.unsafe === "function" && given.savepoint === undefined) return overPostgresJs(given as PostgresJs);
  if (typeof given.totalCount === "number") return overPg(given as PgPool, given as unknown as PgSource);
  if (typeof given.connectionParameters === "object" && typeof given.query === "function") {
    const { connectionParameters: options } = given;
    return overPg(poolOfOne(given as PgClient), { Client: given.constructor as PgSource["Client"], options });
  }
  const wanted = "a Pool or a Client of pg, or an instance of postgres.js";
  const transaction = typeof given.savepoint === "function" ? ", not a transaction: claims must commit at once" : "";
  throw new TypeError(`${name} must be ${wanted}${transaction}`);
}

/** Parts of clients that tell libraries apart. */
interface Settings {
  /** Of a transaction of postgres.js. */
  readonly savepoint: unknown;
  /** Of a `Client` of `pg`. */
  readonly connectionParameters: object;
}

/** Creates further connections with the same settings. */
interface PgSource {
  readonly Client: new (options: object) => PgSubscriber;
  readonly options: object;
}

interface PgSubscriber {
  readonly connection?: { readonly stream?: { destroy(): void } };
  connect(): Promise<unknown>;
  query(text: string): Promise<unknown>;
  end(): Promise<void>;
  on(event: "notification", listener: (message: { channel: string; payload?: string }) => void): unknown;
  on(event: "error" | "end", listener: () => void): unknown;
}

function overPg(pool: Pick<PgPool, "connect">, { Client, options }: PgSource): Database {
  /** Whether connections keep statements prepared. PgBouncer before 1.21 does not, in transaction mode. */
  let prepares = true;
  const send = async (query: Omit<PgQuery, "rowMode">, sendWithinMs: number): Promise<readonly Row[]> => {
    const startMs = performance.now();
    const client = await checkedOut(pool);
    if (performance.now() - startMs > sendWithinMs) {
      client.removeListener("error", ignore);
      client.release();
      throw new Error(`no connection was free within ${Math.round(sendWithinMs)} ms`);
    }
    let isUsable = false;
    try {
      const options = { rowMode: "array", query_timeout: replyTimeoutMs } as const;
      // Several statements have a list of results.
      const result = [await client.query({ ...query, ...options })].flat().at(-1);
      isUsable = true;
      return (result?.rows ?? []) as Row[];
    } catch (error) {
      isUsable = isOfStatement(error);
      throw error;
    } finally {
      client.removeListener("error", ignore);
      client.release(!isUsable);
    }
  };
  return {
    async query({ name, text }, values, sendWithinMs) {
      const query = { text, values: [...values] };
      if (!prepares) return send(query, sendWithinMs);
      try {
        return await send({ ...query, name }, sendWithinMs);
      } catch (error) {
        // A pooler has passed the statement to a connection that does not know it, or already has one of this name.
        if (!["26000", "42P05"].includes(codeOf(error))) throw error;
        prepares = false;
        return send(query, sendWithinMs);
      }
    },
    async script(text) {
      return send({ text }, Number.POSITIVE_INFINITY);
    },
    async listen(channel, onNotify, onEnd) {
      const subscriber = new Client(options);
      subscriber.on("error", ignore); // "end" follows
      subscriber.on("notification", (message) => {
        if (message.channel === channel) onNotify(message.payload ?? "");
      });
      // A server that hangs neither replies nor confirms the end of a connection.
      const cut = (): void => void subscriber.connection?.stream?.destroy();
      const end = async (): Promise<void> => {
        const timer = setTimeout(cut, endTimeoutMs);
        await subscriber.end().catch(ignore);
        clearTimeout(timer);
      };
      const timer = setTimeout(cut, openTimeoutMs);
      try {
        await subscriber.connect();
        await subscriber.query(`LISTEN ${channel}`);
      } catch (error) {
        await end();
        throw error;
      } finally {
        clearTimeout(timer);
      }
      let isClosed = false;
      subscriber.on("end", () => {
        if (!isClosed) onEnd();
      });
      return async () => {
        isClosed = true;
        await end();
      };
    },
  };
}

/**
 * Checks out a connection, with a listener for its errors: its calls reject as well. A promise of the pool would settle too
 * late for that, if the last message of a connection is in the same packet as its first one.
 */
function checkedOut(pool: Pick<PgPool, "connect">): Promise<PgPoolClient> {
  return new Promise((resolve, reject) => {
    pool.connect((error, client) => {
      if (client === undefined) return reject(error);
      client.on("error", ignore);
      resolve(client);
    });
  });
}

/** Lends a client to one caller at a time, as its own queue would still send what was given up. */
function poolOfOne(client: PgClient & { getTransactionStatus?(): string }): Pick<PgPool, "connect"> {
  let free = Promise.resolve();
  return {
    connect(callback) {
      const turn = free;
      let release = (): void => {};
      free = new Promise((resolve) => {
        release = resolve;
      });
      void turn.then(() => {
        if (["T", "E"].includes(client.getTransactionStatus?.() ?? "")) {
          release();
          callback(new ConfigurationError("the client is in a transaction: claims must commit at once", []), undefined);
          return;
        }
        callback(undefined, {
          query: (query) => client.query(query),
          release,
          on: ignore,
          removeListener: ignore,
        });
      });
    },
  };
}

function overPostgresJs(sql: PostgresJs & { options?: { prepare?: boolean } }): Database {
  const prepare = sql.options?.prepare ?? true;
  return {
    async query({ text }, values, sendWithinMs) {
      const parameters = [...values];
      const query = sql.unsafe(text, parameters, { prepare });
      let timer: NodeJS.Timeout | undefined;
      let lateTimer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_resolve, reject) => {
        // A query that was sent is left to its reply: to cancel it could confirm a claim that no standby has. One that
        // waits for a connection loses its parameters, so that the server will refuse it. If it were cancelled while its
        // connection opens, the instance (3.4.9) would never use that connection.
        const dropUnsent = (): void => {
          if ((query as { state?: unknown }).state != null) return;
          parameters.length = 0;
          reject(new Error(`no connection was free within ${Math.round(sendWithinMs)} ms`));
        };
        timer = setTimeout(dropUnsent, Math.min(sendWithinMs, timerMaxMs));
        // The query on a connection that is lost may never settle.
        const fail = (): void => reject(new Error(`no reply within ${replyTimeoutMs} ms`));
        lateTimer = setTimeout(fail, Math.min(sendWithinMs + replyTimeoutMs, timerMaxMs));
      });
      try {
        return (await Promise.race([query.values(), late])) as Row[];
      } finally {
        clearTimeout(timer);
        clearTimeout(lateTimer);
      }
    },
    async script(text) {
      const results = (await sql.unsafe(text).values()) as (readonly Row[])[];
      return results.at(-1) as readonly Row[];
    },
    async listen(channel, onNotify) {
      // The instance reconnects by itself, and closes the connection with itself.
      const { unlisten } = await sql.listen(channel, onNotify);
      return () => unlisten().catch(ignore);
    },
  };
}

/**
 * Returns whether this is an error message of the server about a statement, after which the connection is intact. The
 * severity does not tell: it is in the language of the server. Classes of errors that may end the connection are left out.
 */
export function isOfStatement(error: unknown): boolean {
  return /^(?!08|28|3D|53|57|58)[\dFHP][\dA-Z]{4}$/.test(codeOf(error));
}

/** Returns the SQLSTATE of an error; empty if it has none. */
export function codeOf(error: unknown): string {
  const { code } = Object(error);
  return typeof code === "string" ? code : "";
}

function ignore(): void {}
