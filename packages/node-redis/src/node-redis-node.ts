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
import { readinessOf } from "./readiness.ts";

/**
 * Disables the client's own command timeout, because core enforces a deadline. The client's timeout creates an
 * AbortSignal per command, and ends when the command is written.
 */
const commandOptions: NodeRedisCommandOptions = { timeout: 0 };

/**
 * Returns a lock node over a node-redis client. You keep ownership of the client: give it an `error` listener, connect
 * it, and close it when the node is no longer needed. While the client connects for the first time, claims wait for it.
 * While it is not connected otherwise, acquiring and extending fail at once.
 *
 * @param client created by `createClient`, or by `createCluster`, where all resources of one lock must share a slot.
 *   Pools and sentinel clients are refused: over several connections, a release may overtake the acquire that it undoes
 * @param options see {@link RedisNodeOptions}
 * @throws {TypeError | RangeError} if the client or an option cannot be used, naming it and the reason
 *
 * @example
 * ```ts
 * import { Redlock } from "@holdfast/core";
 * import { nodeRedisNode } from "@holdfast/node-redis";
 * import { createClient } from "@redis/client";
 *
 * const clients = [7001, 7002, 7003].map((port) => createClient({ socket: { port } }).on("error", console.error));
 * await Promise.all(clients.map((client) => client.connect()));
 * const redlock = new Redlock(clients.map((client) => nodeRedisNode(client)));
 * ```
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
    writesOnceATurn: true,
    isReady: () => client.isReady,
    ...readinessOf(client),
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
    ...readinessOf(client),
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
  // The client reconnects automatically, unless its settings tell it to stop.
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
