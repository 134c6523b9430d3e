import { errorMonitor } from "node:events";
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
export function notConnected(connection: Pick<RedisConnection, "whyNotReady">, key: string): Error {
  const reason = connection.whyNotReady?.(key);
  if (reason === undefined) {
    return new Error("the client is not connected: add an error listener to the client to see why");
  }
  const message = `the client is not connected: ${messageOf(reason)}`;
  if (!(reason instanceof Error)) return new Error(message);
  // A copy, because clients attach the command to their errors, and AUTH contains the password.
  const { code } = reason as { readonly code?: unknown };
  const cause = Object.assign(new Error(messageOf(reason)), typeof code === "string" && { code });
  return new Error(message, { cause });
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

/** The part of a client that {@link watchErrors} uses. */
export interface ErrorEmitter {
  /** Listens to an event. */
  on(event: string | symbol, listener: (error?: unknown) => void): unknown;
}

const lastErrors = new WeakMap<object, { error: unknown }>();

/**
 * Records the errors of a client. An `error` event that has no other listener still counts as unhandled.
 *
 * @param client the client to observe
 * @returns a function that returns the last error since the client was last `ready`, if any
 *
 * @example
 * ```ts
 * import { watchErrors } from "@holdfast/redis";
 * import { Redis } from "ioredis";
 *
 * const lastError = watchErrors(new Redis({ port: 6379 }));
 * const whyNotReady = () => lastError() ?? "call connect() first";
 * ```
 */
export function watchErrors(client: Partial<ErrorEmitter>): () => unknown {
  const seen = lastErrors.get(client);
  if (seen !== undefined) return () => seen.error;
  const last: { error: unknown } = { error: undefined };
  lastErrors.set(client, last);
  const remember = (error: unknown): void => {
    last.error = error;
  };
  const forget = (): void => {
    last.error = undefined;
  };
  client.on?.(errorMonitor, remember);
  client.on?.("ready", forget);
  // A cluster of node-redis is never "ready" itself.
  client.on?.("node-error", remember);
  client.on?.("node-ready", forget);
  return () => last.error;
}
