import { type FencedStore, type FencedStoreOptions, fencedStore } from "@holdfast/redis";
import { Decoder, TimeoutError } from "@valkey/valkey-glide";
import type { ValkeyGlideClient } from "./client.ts";
import { assertClient, reworded, wordSender } from "./send-words.ts";

/**
 * Makes a fenced store of a Valkey GLIDE client: data in Valkey that refuses the late writes of a holder that has lost its
 * lock. The client stays yours; it may be of another server than those of the locks.
 *
 * @param client a `GlideClient` or a `GlideClusterClient`
 * @param options see {@link FencedStoreOptions}
 * @throws {TypeError | RangeError} when the client or an option cannot be used, naming it and why
 */
export function valkeyGlideFencedStore(client: ValkeyGlideClient, options: FencedStoreOptions = {}): FencedStore {
  assertClient(client);
  const send = wordSender(client);
  return fencedStore(
    {
      isReady: () => true, // GLIDE does not tell; what it cannot send in time it drops
      async runScript(command, script, key, args, timeoutMs) {
        try {
          return await send([command, script, "1", key, ...args], timeoutMs, Decoder.Bytes);
        } catch (error) {
          if (error instanceof TimeoutError) return new Promise(() => {}); // the store has the same deadline, and tells
          throw reworded(error);
        }
      },
    },
    options,
  );
}
