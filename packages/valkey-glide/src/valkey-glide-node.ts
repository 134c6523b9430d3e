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
import { createPresence } from "./presence.ts";
import { assertClient, isCluster, reworded, wordSender } from "./send-words.ts";
import { openSubscriber } from "./subscriber.ts";

/** How a node names its keys and what it does beyond locking. */
export interface ValkeyGlideNodeOptions extends RedisNodeOptions {
  /**
   * Makes a client of the same server that only listens, when somebody first waits; the node closes it. It needs RESP3,
   * GLIDE's default, and no subscriptions of its own. Default: none; the node then offers no `watch`, and waiting means
   * trying again after a while.
   */
  readonly subscriber?: () => Promise<ValkeyGlideSubscriber>;
}

/**
 * How long GLIDE keeps a command that does no harm however late it is, such as a release, for a connection that is coming
 * back. Each takes one of the client's `inflightRequestsLimit` meanwhile.
 */
const patienceMs = 30_000;

/** How long the server may take to say that it is there. */
const pingTimeoutMs = 1_000;

/**
 * Makes a lock node of a Valkey GLIDE client. The client stays yours: close it when you no longer need the node. While it
 * is known to be disconnected, acquiring and extending fail at once.
 *
 * @param client a `GlideClient`; or a `GlideClusterClient`, where all resources of one lock must share a slot
 * @param options see {@link ValkeyGlideNodeOptions}
 * @throws {TypeError | RangeError} when the client or an option cannot be used, naming it and why
 */
export function valkeyGlideNode(client: ValkeyGlideClient, options: ValkeyGlideNodeOptions = {}): RedisNode {
  assertClient(client);
  assertOptions(options, ["subscriber", ...redisNodeOptionNames], "a lock node");
  const { subscriber, ...others } = options;
  if (subscriber !== undefined && typeof subscriber !== "function") {
    throw new TypeError(`subscriber must be a function that makes a client, not ${typeof subscriber}`);
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
  const presence = createPresence(() => send(["PING"], pingTimeoutMs));

  return {
    // GLIDE does not tell where its clients connect to.
    name: isOfCluster ? clusterName(undefined) : `valkey-glide ${randomName()}`,
    isCluster: isOfCluster,
    settlesInTime: true,
    // A cluster that has lost one server may still have the one in question.
    isReady: () => isOfCluster || presence.isThere,
    async runScript(command, script, call, timeoutMs = patienceMs) {
      try {
        return await send([command, script, String(call.keyCount), ...call.keysAndArguments()], timeoutMs);
      } catch (error) {
        if (!isOfCluster) presence.missed(error);
        throw reworded(error);
      }
    },
    ...(makeSubscriber && { openSubscriber: (onMessage, onEnd) => openSubscriber(makeSubscriber(), onMessage, onEnd) }),
  };
}
