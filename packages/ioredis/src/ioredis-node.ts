import {
  clusterName,
  type RedisConnection,
  type RedisNode,
  type RedisNodeOptions,
  type RedisSubscriber,
  redisNode,
  serverName,
} from "@holdfast/redis";
import { assertClient } from "./assert-client.ts";
import type { IoredisClient } from "./client.ts";
import { readinessOf, scriptRunner } from "./connection.ts";

/**
 * Returns a lock node over an ioredis client. You keep ownership of the client: connect it, give it an `error`
 * listener, and close it when the node is no longer needed. While the client connects for the first time, claims wait
 * for it. While it is not connected otherwise, acquiring and extending fail at once.
 *
 * @param client a `Redis`, or a `Cluster`, on which all resources of one lock must share a slot
 * @param options see {@link RedisNodeOptions}
 * @throws {TypeError | RangeError} if the client or an option cannot be used, naming it and the reason
 *
 * @example
 * ```ts
 * import { Redlock } from "@holdfast/core";
 * import { ioredisNode } from "@holdfast/ioredis";
 * import { Redis } from "ioredis";
 *
 * const clients = [7001, 7002, 7003].map((port) => new Redis({ port }).on("error", console.error));
 * const redlock = new Redlock(clients.map((client) => ioredisNode(client)));
 * ```
 */
export function ioredisNode(client: IoredisClient, options: RedisNodeOptions = {}): RedisNode {
  assertClient(
    client,
    (keyPrefix) =>
      ", because that would rename fence counters, too: use a client without it, and the option prefix: " +
      JSON.stringify(`${keyPrefix}lock:`),
  );
  return redisNode(connectionOf(client), options);
}

function connectionOf(client: IoredisClient): RedisConnection {
  return {
    name: nameOf(client),
    isCluster: client.isCluster,
    ...readinessOf(client),
    runScript: scriptRunner(client),
    openSubscriber: (onMessage, onEnd) => openSubscriber(client, onMessage, onEnd),
  };
}

function openSubscriber(
  client: IoredisClient,
  onMessage: (channel: string, message: string) => void,
  onEnd: () => void,
): RedisSubscriber {
  // The user's client may have other settings.
  const overrides = { lazyConnect: false, autoResubscribe: true };
  const subscriber = client.isCluster ? client.duplicate([], overrides) : client.duplicate(overrides);
  subscriber.on("message", onMessage);
  subscriber.on("end", onEnd);
  // The client reconnects automatically, and a lost notification costs nothing but time.
  subscriber.on("error", () => {});

  // After a reconnection, ioredis subscribes again automatically. If that fails, it rejects a promise that nothing else
  // handles.
  const { subscribe } = subscriber;
  subscriber.subscribe = (channels) => {
    const subscribed = subscribe.call(subscriber, channels);
    subscribed.catch(() => {});
    return subscribed;
  };

  // ioredis 5 would send SUBSCRIBE before its ready check. The check is then not permitted, and ioredis reconnects
  // without the subscription.
  const ready = async (): Promise<void> => {
    if (subscriber.status !== "ready") await new Promise<void>((resolve) => subscriber.once("ready", resolve));
  };
  return {
    subscribe: async (channel) => {
      await ready();
      await subscriber.subscribe(channel);
    },
    unsubscribe: async (channel) => {
      await ready();
      await subscriber.unsubscribe(channel);
    },
    close: () => subscriber.disconnect(),
  };
}

function nameOf(client: IoredisClient): string {
  if (client.isCluster) return clusterName(client.nodes?.()[0]?.options);
  const { host, port, path, db: database, sentinels, name } = client.options;
  return sentinels && name ? `sentinel ${name}` : serverName({ host, port, path, database });
}
