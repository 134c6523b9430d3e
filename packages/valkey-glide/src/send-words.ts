import { Batch, ClusterBatch, type Decoder, TimeoutError } from "@valkey/valkey-glide";
import type { ValkeyGlideClient } from "./client.ts";

/** The longest timeout that GLIDE accepts. */
const timeoutMaxMs = 2 ** 32 - 1;

/** Sends the words of a command, and decodes the strings of its reply. */
export type SendWords = (words: (string | Buffer)[], timeoutMs: number, decoder: Decoder) => Promise<unknown>;

/** Returns whether the client is a `GlideClusterClient`. */
export function isCluster(client: ValkeyGlideClient): boolean {
  return "ssubscribe" in client;
}

/**
 * Returns a function that sends commands. Each command is a batch of one, because only batches have their own timeout:
 * after it, the command is not sent.
 */
export function wordSender(client: ValkeyGlideClient): SendWords {
  const newBatch = isCluster(client) ? () => new ClusterBatch(false) : () => new Batch(false);
  return async (words, timeoutMs, decoder) => {
    const timeout = Math.min(Math.max(1, Math.ceil(timeoutMs)), timeoutMaxMs);
    const replies = await client.exec(newBatch().customCommand(words), true, { timeout, decoder });
    return replies?.[0];
  };
}

/** Restores the error of the server, which GLIDE rewords, and says more about a timeout than "timed out". */
export function reworded(error: unknown): unknown {
  if (error instanceof TimeoutError) return new Error("timed out before the server replied");
  if (!(error instanceof Error)) return error;
  const message = error.message.replace(/^An error was signalled by the server: - /, "");
  return new Error(message.replace(/^NoScriptError: /, "NOSCRIPT "));
}

/** Throws unless the client is a GLIDE client. */
export function assertClient(client: ValkeyGlideClient): void {
  if (typeof client?.exec === "function") return;
  throw new TypeError("client must be a GlideClient or a GlideClusterClient of @valkey/valkey-glide");
}
