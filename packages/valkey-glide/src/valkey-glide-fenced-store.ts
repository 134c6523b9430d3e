import { type FencedStore, type FencedStoreOptions, fencedStore } from "@holdfast/redis";
import { Decoder, TimeoutError } from "@valkey/valkey-glide";
import type { ValkeyGlideClient } from "./client.ts";
import { assertClient, reworded, wordSender } from "./send-words.ts";

/**
 * Returns a fenced store over a Valkey GLIDE client: data in Valkey that refuses late writes of a holder that has lost
 * its lock. You keep ownership of the client, whose server need not be one of the lock servers.
 *
 * @param client a `GlideClient` or a `GlideClusterClient`
 * @param options see {@link FencedStoreOptions}
 * @throws {TypeError | RangeError} if the client or an option cannot be used, naming it and the reason
 *
 * @example
 * ```ts
 * import { valkeyGlideFencedStore } from "@holdfast/valkey-glide";
 * import { GlideClient } from "@valkey/valkey-glide";
 *
 * const client = await GlideClient.createClient({ addresses: [{ host: "127.0.0.1", port: 7004 }] });
 * const store = valkeyGlideFencedStore(client);
 * await redlock.using("visits", async (lock) => {
 *   const { value } = await store.read("visits", lock.fence);
 *   await store.write("visits", String(1 + Number(value ?? 0)), lock.fence);
 * });
 * ```
 */
export function valkeyGlideFencedStore(client: ValkeyGlideClient, options: FencedStoreOptions = {}): FencedStore {
  assertClient(client);
  const send = wordSender(client);
  return fencedStore(
    {
      isReady: () => true, // GLIDE does not say; it drops commands that it cannot send in time
      async runScript(command, script, key, args, timeoutMs) {
        try {
          return await send([command, script, "1", key, ...args], timeoutMs, Decoder.Bytes);
        } catch (error) {
          if (error instanceof TimeoutError) return new Promise(() => {}); // the store times out, too, with its own error
          throw reworded(error);
        }
      },
    },
    options,
  );
}
