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
import { scriptRunner } from "./script-runner.ts";
import { whyNotReady } from "./why-not-ready.ts";

/**
 * Makes a lock node of an ioredis client. The client stays yours: connect it, give it an `error` listener, and close it
 * when you no longer need the node. While it is not connected, acquiring and extending fail at once.
 *
 * @param client a `Redis`, or a `Cluster`, where all resources of one lock must share a slot
 * @param options see {@link RedisNodeOptions}
 * @throws {TypeError | RangeError} when the client or an option cannot be used, naming it and why
 */
export function ioredisNode(client: IoredisClient, options: RedisNodeOptions = {}): RedisNode {
  assertClient(
    client,
    (keyPrefix) =>
      ", as that would also come before the names of fence counters, which must stay as they are: use a client without " +
      `it, and the option prefix: ${JSON.stringify(`${keyPrefix}lock:`)}`,
  );
  return redisNode(connectionOf(client), options);
}

function connectionOf(client: IoredisClient): RedisConnection {
  return {
    name: nameOf(client),
    isCluster: client.isCluster,
    isReady: () => client.status === "ready",
    whyNotReady: whyNotReady(client),
    runScript: scriptRunner(client),
    openSubscriber: (onMessage, onEnd) => openSubscriber(client, onMessage, onEnd),
  };
}

function openSubscriber(
  client: IoredisClient,
  onMessage: (channel: string, message: string) => void,
  onEnd: () => void,
): RedisSubscriber {
  // The user's client may have been told otherwise.
  const overrides = { lazyConnect: false, autoResubscribe: true };
  const subscriber = client.isCluster ? client.duplicate([], overrides) : client.duplicate(overrides);
  subscriber.on("message", onMessage);
  subscriber.on("end", onEnd);
  // The connection comes back by itself, and a lost hint costs nothing but time.
  subscriber.on("error", () => {});

  // ioredis subscribes again by itself after a reconnection, and nobody hears of it when that fails, but as the rejection of a
  // promise that nobody has.
  const { subscribe } = subscriber;
  subscriber.subscribe = (channels) => {
    const subscribed = subscribe.call(subscriber, channels);
    subscribed.catch(() => {});
    return subscribed;
  };

  // ioredis 5 would send a SUBSCRIBE before it has asked whether the server is ready, which it then may not ask any more:
  // it starts again, without the subscription.
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
