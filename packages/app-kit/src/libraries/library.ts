import type { Address } from "../clients.ts";

// biome-ignore lint/suspicious/noExplicitAny: a class with any constructor
type Denial = abstract new (...args: any[]) => Error;

/** One user of another lock library, with a client for each server. A `Lock` is what the library knows a lock by. */
export interface LibraryUser<Lock> {
  /** Waits for a lock on these keys as the library does; rejects when the library gives up. */
  acquire(keys: readonly string[], ttlMs: number): PromiseLike<Lock>;
  /** Extends a lock to this ttl from now. Resolves with the lock from then on, or with null if it has ended. */
  extend(lock: Lock, ttlMs: number): PromiseLike<Lock | null>;
  release(lock: Lock): PromiseLike<unknown>;
  /** Returns the value of each key of a lock. */
  valueOf(lock: Lock): string;
  /** The errors with which calls reject if another client holds a key. */
  readonly denial: Denial;
  /** Closes the clients. */
  close(): void;
}

/** Connects a client of a library to each server. Options that are not given are the library's own defaults. */
export type ConnectUser<Lock, Options> = (
  addresses: readonly Address[],
  options: Partial<Options>,
) => Promise<LibraryUser<Lock>>;
