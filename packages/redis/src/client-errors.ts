import { errorMonitor } from "node:events";
import { NotSentError } from "@holdfast/core";
import type { RedisConnection } from "./connection.ts";

/** Returns the message of an error without the arguments of its command. Accepts values that are no `Error`, too. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // The message of an AggregateError is empty, as for a host with several addresses.
  const message = error.message || String((error as { code?: unknown }).code ?? error.name);
  // A server that does not know AUTH or HELLO quotes the password.
  return message.replace(/, with args beginning with:.*$/s, "");
}

/**
 * Returns the error for an operation that is not sent because the client is not connected, with the reason if known.
 *
 * @param key a key of the operation
 */
export function notConnected(connection: Pick<RedisConnection, "whyNotReady">, key: string): NotSentError {
  const reason = connection.whyNotReady?.(key);
  const why = reason === undefined ? "add an error listener to the client to see why" : messageOf(reason);
  const message = `the client is not connected: ${why}`;
  if (!(reason instanceof Error)) return new NotSentError(message);
  // A copy, because clients attach the command to their errors, and AUTH contains the password.
  const { code } = reason as { readonly code?: unknown };
  const cause = Object.assign(new Error(messageOf(reason)), typeof code === "string" && { code });
  return new NotSentError(message, { cause });
}

/** Returns whether a server or a proxy refuses a call because its keys belong to several slots, or to another server. */
export function isAboutSlots(message: string): boolean {
  return /^(CROSSSLOT|MOVED) |non local key|same slot/.test(message);
}

/** Returns the error for such a call. */
export function shardError(problem: string, message: string): Error {
  return new Error(
    `${problem} of the Redis Cluster: use a cluster client, which finds the shard of each key (${message})`,
  );
}

/** The part of a client that {@link watchClient} uses. */
export interface ClientEvents {
  /** Listens to an event. */
  on(event: string | symbol, listener: (error?: unknown) => void): unknown;
}

/** What the events of a client have told. */
export interface WatchedClient {
  /** Returns the last error since the client was last `ready`, if any. */
  lastError(): unknown;
  /**
   * Returns a promise that resolves when the first attempt to connect has ended, well or not; undefined if one has ended
   * since the client is watched.
   */
  firstConnection(): Promise<void> | undefined;
}

const watched = new WeakMap<object, WatchedClient>();

/**
 * Records the errors of a client, and when it has connected for the first time. An `error` event that has no other
 * listener still counts as unhandled.
 *
 * @param client the client to observe: all calls for one client return the same object
 *
 * @example
 * ```ts
 * import { watchClient } from "@holdfast/redis";
 * import { Redis } from "ioredis";
 *
 * const { lastError } = watchClient(new Redis({ port: 6379 }));
 * const whyNotReady = () => lastError() ?? "call connect() first";
 * ```
 */
export function watchClient(client: Partial<ClientEvents>): WatchedClient {
  const known = watched.get(client);
  if (known !== undefined) return known;
  let last: unknown;
  let endFirst = (): void => {};
  let first: Promise<void> | undefined = new Promise((resolve) => {
    endFirst = () => {
      first = undefined;
      resolve();
    };
  });
  const seen = (error?: unknown): void => {
    last = error;
    endFirst();
  };
  // A cluster of node-redis is never "ready" itself.
  for (const event of [errorMonitor, "node-error"]) client.on?.(event, seen);
  for (const event of ["ready", "node-ready"]) client.on?.(event, () => seen());
  for (const event of ["close", "end"]) client.on?.(event, () => endFirst());
  const state: WatchedClient = { lastError: () => last, firstConnection: () => first };
  watched.set(client, state);
  return state;
}
