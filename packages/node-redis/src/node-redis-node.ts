import {
  clusterName,
  clusterSlot,
  type RedisConnection,
  type RedisNode,
  type RedisNodeOptions,
  type RedisSubscriber,
  redisNode,
  serverName,
  tagOfSlot,
} from "@holdfast/redis";
import type { NodeRedisClient, NodeRedisCluster, NodeRedisCommandOptions, NodeRedisSubscriber } from "./client.ts";

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
  if (typeof client?.isReady !== "boolean" || typeof client.sendCommand !== "function" || "use" in client) {
    throw new TypeError(
      "client must be made by createClient or createCluster of node-redis, not be a pool or a sentinel",
    );
  }
  const keyPrefix = client.options?.keyPrefix;
  if (keyPrefix) {
    const prefix = JSON.stringify(`${keyPrefix}lock:`);
    throw new TypeError(`client must not have a keyPrefix: use one without it, and the option prefix: ${prefix}`);
  }
  return redisNode(clientConnection(client), options);
}

function isCluster(client: NodeRedisClient | NodeRedisCluster): client is NodeRedisCluster {
  return typeof client === "object" && client !== null && "masters" in client;
}

function clientConnection(client: NodeRedisClient): RedisConnection {
  const { socket, database } = client.options ?? {};
  return {
    name: serverName({ ...socket, database }),
    isCluster: false,
    isReady: () => client.isReady,
    runScript: (command, script, call) =>
      client.sendCommand([command, script, String(call.keyCount), ...call.keysAndArguments()], commandOptions),
    openSubscriber: (onMessage, onEnd) => open(client.duplicate(), onMessage, onEnd),
  };
}

function clusterConnection(client: NodeRedisCluster): RedisConnection {
  return {
    name: clusterName(client.masters[0]),
    isCluster: true,
    isReady(key) {
      // A shard without a client gets one when it is first used.
      const shard = client.slots[clusterSlot(key)]?.master.client;
      return client.isOpen && (shard === undefined || shard.isReady);
    },
    runScript(command, script, call) {
      const words = [command, script, String(call.keyCount), ...call.keysAndArguments()];
      return client.sendCommand(routingKey(call.firstKey), false, words, commandOptions);
    },
    openSubscriber: (onMessage, onEnd) => open(client.duplicate({ minimizeConnections: true }), onMessage, onEnd),
  };
}

/** A key with the same slot. `@redis/client` 5 looks for the hash tag in the wrong place where nothing is in the first. */
function routingKey(key: string): string {
  return key.includes("{}") ? tagOfSlot(clusterSlot(key)) : key;
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
