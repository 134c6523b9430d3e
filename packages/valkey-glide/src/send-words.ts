import { Batch, ClusterBatch, type Decoder, TimeoutError } from "@valkey/valkey-glide";
import type { ValkeyGlideClient } from "./client.ts";

/** The longest timeout that GLIDE knows. */
const timeoutMsMax = 2 ** 32 - 1;

/** Sends the words of a command, and reads the strings of its reply by the decoder. */
export type SendWords = (words: (string | Buffer)[], timeoutMs: number, decoder: Decoder) => Promise<unknown>;

/** Whether it is a `GlideClusterClient`. */
export function isCluster(client: ValkeyGlideClient): boolean {
  return "ssubscribe" in client;
}

/** Makes what sends commands. Each is a batch of one, as only batches have timeouts of their own: it is not sent after that. */
export function wordSender(client: ValkeyGlideClient): SendWords {
  const newBatch = isCluster(client) ? () => new ClusterBatch(false) : () => new Batch(false);
  return async (words, timeoutMs, decoder) => {
    const timeout = Math.min(Math.max(1, Math.ceil(timeoutMs)), timeoutMsMax);
    const replies = await client.exec(newBatch().customCommand(words), true, { timeout, decoder });
    return replies?.[0];
  };
}

/** GLIDE words the errors of servers in its own way, and says nothing but "timed out". */
export function reworded(error: unknown): unknown {
  if (error instanceof TimeoutError) return new Error("time was up before the server answered");
  if (!(error instanceof Error)) return error;
  const message = error.message.replace(/^An error was signalled by the server: - /, "");
  return new Error(message.replace(/^NoScriptError: /, "NOSCRIPT "));
}

/** Throws unless it is a client of GLIDE. */
export function assertClient(client: ValkeyGlideClient): void {
  if (typeof client?.exec === "function") return;
  throw new TypeError("client must be a GlideClient or a GlideClusterClient of @valkey/valkey-glide");
}
