import { errorMonitor } from "node:events";
import { messageOf } from "./message-of.ts";

/** The error of an operation that was not sent, as the client is not connected: with the reason, as far as it is known. */
export function notConnected(reason: unknown): Error {
  if (reason === undefined) {
    return new Error("the client is not connected: an error listener on the client would tell the reason");
  }
  const message = `the client is not connected: ${messageOf(reason)}`;
  if (!(reason instanceof Error)) return new Error(message);
  // A copy, because clients hang the command on their errors: that of AUTH has the password.
  const { code } = reason as { readonly code?: unknown };
  const cause = Object.assign(new Error(messageOf(reason)), typeof code === "string" && { code });
  return new Error(message, { cause });
}

/** What the adapter needs of a client for {@link watchErrors}. */
export interface ErrorEmitter {
  /** Listens to an event. */
  on(event: string | symbol, listener: (error?: unknown) => void): unknown;
}

const lastErrors = new WeakMap<object, { error: unknown }>();

/**
 * Watches the errors of a client, without being a listener that keeps an `error` event from being unhandled.
 *
 * @returns a function that returns the last error since the client was last `ready`, if there was one
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
  // Of a cluster of node-redis, which is never "ready" itself.
  client.on?.("node-error", remember);
  client.on?.("node-ready", forget);
  return () => last.error;
}
