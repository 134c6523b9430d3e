import {
  clusterName,
  type RedisConnection,
  type RedisNode,
  type RedisNodeOptions,
  type RedisSubscriber,
  redisNode,
  serverName,
} from "@holdfast/redis";
import { assertClient, isCluster } from "./assert-client.ts";
import type { NodeRedisClient, NodeRedisCluster, NodeRedisCommandOptions, NodeRedisSubscriber } from "./client.ts";
import { isShardReady, routingKey } from "./cluster.ts";
import { whyNotReady } from "./why-not-ready.ts";

/** None: the deadline is core's. The client's own would cost an AbortSignal per command, and end when it is written. */
const commandOptions: NodeRedisCommandOptions = { timeout: 0 };

/**
 * Makes a lock node of a node-redis client. The client stays yours: give it an `error` listener, connect it, and close it
 * when you no longer need the node. While it is not connected, acquiring and extending fail at once.
 *
 * @param client made by `createClient`; or by `createCluster`, where all resources of one lock must share a slot. A pool
 *   or a sentinel client will not do: over several connections, a release may overtake the acquire that it undoes
 * @param options see {@link RedisNodeOptions}
 * @throws {TypeError | RangeError} when the client or an option cannot be used, naming it and why
 */
export function nodeRedisNode(client: NodeRedisClient | NodeRedisCluster, options: RedisNodeOptions = {}): RedisNode {
  if (isCluster(client)) return redisNode(clusterConnection(client), options);
  assertClient(client, (keyPrefix) => `the option prefix: ${JSON.stringify(`${keyPrefix}lock:`)}`);
  return redisNode(clientConnection(client), options);
}

function clientConnection(client: NodeRedisClient): RedisConnection {
  const { socket, database } = client.options ?? {};
  return {
    name: serverName({ ...socket, database }),
    isCluster: false,
    isReady: () => client.isReady,
    whyNotReady: whyNotReady(client),
    runScript: (command, script, call) =>
      client.sendCommand([command, script, String(call.keyCount), ...call.keysAndArguments()], commandOptions),
    openSubscriber: (onMessage, onEnd) => open(client.duplicate(), onMessage, onEnd),
  };
}

function clusterConnection(client: NodeRedisCluster): RedisConnection {
  return {
    name: clusterName(client.masters[0]),
    isCluster: true,
    isReady: (key) => isShardReady(client, key),
    whyNotReady: whyNotReady(client),
    runScript(command, script, call) {
      const words = [command, script, String(call.keyCount), ...call.keysAndArguments()];
      return client.sendCommand(routingKey(call.firstKey), false, words, commandOptions);
    },
    openSubscriber: (onMessage, onEnd) => open(client.duplicate({ minimizeConnections: true }), onMessage, onEnd),
  };
}

function open(
  subscriber: NodeRedisSubscriber,
  onMessage: (channel: string, message: string) => void,
  onEnd: () => void,
): RedisSubscriber {
  // The connection comes back by itself, unless the client has been told to give up.
  subscriber.on("error", () => {
    if (!subscriber.isOpen) onEnd();
  });
  const listener = (message: string, channel: string): void => onMessage(channel, message);
  const connected = subscriber.connect();
  connected.catch(() => {});
  return {
    subscribe: async (channel) => {
      await connected;
      await subscriber.subscribe(channel, listener);
    },
    unsubscribe: async (channel) => {
      await connected;
      await subscriber.unsubscribe(channel);
    },
    close() {
      if (subscriber.isOpen) subscriber.destroy();
    },
  };
}
