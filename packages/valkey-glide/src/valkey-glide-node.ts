import {
  assertOptions,
  clusterName,
  type RedisConnection,
  type RedisNode,
  type RedisNodeOptions,
  randomName,
  redisNode,
  redisNodeOptionNames,
} from "@holdfast/redis";
import { Decoder } from "@valkey/valkey-glide";
import type { ValkeyGlideClient, ValkeyGlideSubscriber } from "./client.ts";
import { createReachability } from "./reachability.ts";
import { assertClient, isCluster, reworded, wordSender } from "./send-words.ts";
import { openSubscriber } from "./subscriber.ts";

/** The options of a lock node over Valkey GLIDE. */
export interface ValkeyGlideNodeOptions extends RedisNodeOptions {
  /**
   * Creates a client for the same server that is used for subscriptions only. It is called when a caller first waits,
   * and the node closes the client. It must use RESP3, GLIDE's default, and have no subscriptions. Default: none; the
   * node then offers no `watch`, and waiting callers retry after a delay.
   */
  readonly subscriber?: () => Promise<ValkeyGlideSubscriber>;
}

/**
 * How long GLIDE keeps a command that does no harm however late it arrives, such as a release, while it reconnects.
 * Each takes one of the client's `inflightRequestsLimit` meanwhile.
 */
const reconnectTimeoutMs = 30_000;

/** How long the server may take to reply to a ping. */
const pingTimeoutMs = 1_000;

/**
 * Returns a lock node over a Valkey GLIDE client. You keep ownership of the client: close it when the node is no longer
 * needed. While the client is known to be disconnected, acquiring and extending fail at once.
 *
 * @param client a `GlideClient`, or a `GlideClusterClient`, on which all resources of one lock must share a slot
 * @param options see {@link ValkeyGlideNodeOptions}
 * @throws {TypeError | RangeError} if the client or an option cannot be used, naming it and the reason
 *
 * @example
 * ```ts
 * import { valkeyGlideNode } from "@holdfast/valkey-glide";
 * import { GlideClient } from "@valkey/valkey-glide";
 *
 * const server = { addresses: [{ host: "127.0.0.1", port: 7001 }] };
 * const node = valkeyGlideNode(await GlideClient.createClient(server), {
 *   name: "valkey-1",
 *   subscriber: () => GlideClient.createClient(server),
 * });
 * ```
 */
export function valkeyGlideNode(client: ValkeyGlideClient, options: ValkeyGlideNodeOptions = {}): RedisNode {
  assertClient(client);
  assertOptions(options, ["subscriber", ...redisNodeOptionNames], "a lock node");
  const { subscriber, ...others } = options;
  if (subscriber !== undefined && typeof subscriber !== "function") {
    throw new TypeError(`subscriber must be a function that creates a client, not ${typeof subscriber}`);
  }
  return redisNode(connectionOf(client, subscriber), others);
}

function connectionOf(
  client: ValkeyGlideClient,
  makeSubscriber: (() => Promise<ValkeyGlideSubscriber>) | undefined,
): RedisConnection {
  const isOfCluster = isCluster(client);
  const sendWords = wordSender(client);
  const send = (words: (string | Buffer)[], timeoutMs: number) => sendWords(words, timeoutMs, Decoder.String);
  const reachability = createReachability(() => send(["PING"], pingTimeoutMs));

  return {
    // GLIDE does not show the address of its clients.
    name: isOfCluster ? clusterName(undefined) : `valkey-glide ${randomName()}`,
    isCluster: isOfCluster,
    settlesInTime: true,
    // A cluster that has lost one server may still have the one that the key belongs to.
    isReady: () => isOfCluster || reachability.isReachable,
    async runScript(command, script, call, timeoutMs = reconnectTimeoutMs) {
      try {
        return await send([command, script, String(call.keyCount), ...call.keysAndArguments()], timeoutMs);
      } catch (error) {
        if (!isOfCluster) reachability.onFailure(error);
        throw reworded(error);
      }
    },
    ...(makeSubscriber && { openSubscriber: (onMessage, onEnd) => openSubscriber(makeSubscriber(), onMessage, onEnd) }),
  };
}
