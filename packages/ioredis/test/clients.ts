import type { RedisNodeOptions } from "@holdfast/redis";
import type { ClientUnderTest } from "@holdfast/redis-testkit/adapter-tools";
import type { WayToServer } from "@holdfast/redis-testkit/describe-reasons";
import { Cluster, Redis, type RedisOptions } from "ioredis";
import { Cluster as Cluster5, Redis as Redis5, type RedisOptions as Redis5Options } from "ioredis5";
import { Redis as Valkey, Cluster as ValkeyCluster, type RedisOptions as ValkeyOptions } from "iovalkey";
import { type IoredisClient, ioredisFencedStore, ioredisNode } from "../src/index.ts";

/** Names the client of an exported function for another process. */
export const rival = (client: string) => ({ url: new URL("./fixtures/rival.ts", import.meta.url), client });

const soon = { host: "127.0.0.1", retryStrategy: () => 5 };
const clusterSoon = { clusterRetryStrategy: () => 20 };

/** The options of a client of any version for a way to a server. */
export function connectionOptions({ port, password, isIdle = false }: WayToServer) {
  return { port, host: "127.0.0.1", lazyConnect: isIdle, ...(password !== undefined && { password }) };
}

/** Creates a client of ioredis 6 and its node. */
export function over6(clientOptions: Omit<RedisOptions, "replyMapping">, options?: RedisNodeOptions): ClientUnderTest {
  return underTest(new Redis({ ...soon, ...clientOptions }), options);
}

/** Creates a client of ioredis 5 and its node. */
export function over5(clientOptions: Redis5Options, options?: RedisNodeOptions): ClientUnderTest {
  return underTest(new Redis5({ ...soon, ...clientOptions }), options);
}

/** Creates a client of iovalkey and its node. */
export function overValkey(clientOptions: ValkeyOptions, options?: RedisNodeOptions): ClientUnderTest {
  return underTest(new Valkey({ ...soon, ...clientOptions }), options);
}

/** Creates a cluster client of ioredis 6 and its node. */
export function overCluster6(
  ports: readonly number[],
  options?: RedisNodeOptions,
  redisOptions: Pick<RedisOptions, "username" | "password"> = {},
): ClientUnderTest {
  return underTest(new Cluster(addresses(ports), { ...clusterSoon, redisOptions }), options);
}

/** Creates a cluster client of ioredis 5 and its node. */
export function overCluster5(ports: readonly number[], options?: RedisNodeOptions): ClientUnderTest {
  return underTest(new Cluster5(addresses(ports), clusterSoon), options);
}

/** Creates a cluster client of iovalkey and its node. */
export function overValkeyCluster(ports: readonly number[], options?: RedisNodeOptions): ClientUnderTest {
  return underTest(new ValkeyCluster(addresses(ports), clusterSoon), options);
}

function addresses(ports: readonly number[]) {
  return ports.map((port) => ({ host: "127.0.0.1", port }));
}

/** The common part of all clients that tests need. */
interface AnyClient extends IoredisClient {
  on(event: "error" | "ready", listener: () => void): unknown;
  set(key: string, value: string): Promise<unknown>;
  disconnect(): void;
}

function underTest(client: AnyClient, options?: RedisNodeOptions): ClientUnderTest {
  client.on("error", () => {});
  const openNode = (nodeOptions?: RedisNodeOptions) => ioredisNode(client, nodeOptions);
  return {
    node: openNode(options),
    openNode,
    openStore: (storeOptions) => ioredisFencedStore(client, storeOptions),
    isReady: () => client.status === "ready",
    onReady: (listener) => void client.on("ready", listener),
    flood: (payload) => void client.set("flood", payload).catch(() => {}),
    close: () => client.disconnect(),
  };
}
