/** The interface of lock libraries, and of references without a library. */
import type { Address } from "@holdfast/app-kit/clients";

/** A library, or a reference to compare libraries with. */
export interface Contender {
  readonly name: string;
  /** Holdfast, another library, or a lock written by hand over a client or a socket. */
  readonly role: "holdfast" | "peer" | "reference";
  /** Where it keeps locks. */
  readonly store: StoreName | "memory";
  readonly settings: Settings;
  /** Loads the code. Only the measured process calls this. */
  load(): Promise<Connect>;
}

/** The stores with real servers or files. */
export type StoreName = "redis" | "postgres" | "mysql" | "etcd" | "sqlite";

/** How a contender differs from the library's own defaults. */
export interface Settings {
  /**
   * `"tuned"`: retries every 10 ms (redis-semaphore: 2 ms) for ten seconds. `"patient"`: retries forever. `"deaf"`: does
   * not listen to nodes.
   */
  readonly waiting: "default" | "tuned" | "patient" | "deaf";
  /** Whether calls of one tick share a script call; for references. */
  readonly isBatching: boolean;
  /** Whether node timeouts are raised, so that a busy machine does not change the counts. */
  readonly isPatient: boolean;
}

/**
 * Connects one client to each address, and resolves when all are ready.
 *
 * @param addresses for Redis, ports of 127.0.0.1; for another store, its one URL or path
 */
export type Connect = (addresses: readonly Address[], settings: Settings) => Promise<Client>;

/** One user of a library, with connections of its own. */
export interface Client {
  /** Waits for a lock as the library does; rejects when the library gives up. */
  acquire(key: string): Promise<Release>;
  /** Waits for one lock on all keys; only Holdfast has it. */
  acquireAll?(keys: readonly string[]): Promise<Release>;
  /** Closes the connections. Calls in flight may fail. */
  close(): Promise<void> | void;
}

/** Releases a lock. */
export type Release = () => PromiseLike<unknown>;

/** The ttl of every lock. */
export const ttlMs = 10_000;

/** Returns a function that acquires one lock on all keys. */
export function acquireOf(client: Client, keys: readonly string[]): () => Promise<Release> {
  const [key, ...more] = keys;
  if (key !== undefined && more.length === 0) return () => client.acquire(key);
  return () => {
    if (client.acquireAll === undefined) throw new TypeError("it locks one key at a time");
    return client.acquireAll(keys);
  };
}
