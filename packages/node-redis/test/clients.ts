import type { RedisNodeOptions } from "@holdfast/redis";
import type { ClientUnderTest } from "@holdfast/redis-testkit/adapter-tools";
import { createClient, createCluster, type RedisClientOptions, type TypeMapping } from "@redis/client";
import { createClient as createClient5, createCluster as createCluster5 } from "redis-client5";
import { type NodeRedisClient, type NodeRedisCluster, nodeRedisFencedStore, nodeRedisNode } from "../src/index.ts";

/** Names the client of an exported function for another process. */
export const rival = (client: string) => ({ url: new URL("./fixtures/rival.ts", import.meta.url), client });

const reconnectStrategy = () => 5;

/**
 * An address that JSON omits. node-redis creates a new class of four hundred commands for each client unless its options
 * equal those of the client before, as JSON. That takes ten times as long as connecting, and the address does not affect
 * the class.
 */
function socketTo<Address extends object | undefined>(address: Address) {
  const socket = { ...address, reconnectStrategy };
  return Object.defineProperty(socket, "toJSON", { value: () => undefined });
}

/** Creates a client of @redis/client 6 and its node. */
export function over6(
  port: number,
  options?: RedisNodeOptions,
  clientOptions: { RESP?: 2 | 3; commandOptions?: { typeMapping: TypeMapping } } = {},
): ClientUnderTest {
  const client = createClient({ socket: socketTo({ host: "127.0.0.1", port }), ...clientOptions });
  return underTest(client, options);
}

/** Creates a client of @redis/client 6 with other connection options, and its node. */
export function over6By(
  { socket, ...clientOptions }: Pick<RedisClientOptions, "socket" | "username" | "password" | "database">,
  options?: RedisNodeOptions,
): ClientUnderTest {
  const client = createClient({ socket: socketTo(socket), ...clientOptions } as RedisClientOptions);
  return underTest(client as ReturnType<typeof createClient>, options);
}

/** Creates a client of @redis/client 5 and its node. */
export function over5(
  port: number,
  options?: RedisNodeOptions,
  clientOptions: { RESP?: 2 | 3; disableClientInfo?: boolean } = {},
): ClientUnderTest {
  const client = createClient5({ socket: socketTo({ host: "127.0.0.1", port }), ...clientOptions });
  return underTest(client, options);
}

/** Creates a cluster client of @redis/client 6 and its node. */
export function overCluster6(
  ports: readonly number[],
  options?: RedisNodeOptions,
  user: { username?: string; password?: string } = {},
): ClientUnderTest {
  const { rootNodes, defaults } = clusterOptions(ports);
  const client = createCluster({ rootNodes, defaults: { ...defaults, ...user } });
  return underTest(client, options);
}

/** Creates a cluster client of @redis/client 5 and its node. */
export function overCluster5(ports: readonly number[], options?: RedisNodeOptions): ClientUnderTest {
  const client = createCluster5(clusterOptions(ports));
  return underTest(client, options);
}

function clusterOptions(ports: readonly number[]) {
  return {
    rootNodes: ports.map((port) => ({ socket: { host: "127.0.0.1", port } })),
    defaults: { socket: { reconnectStrategy } },
  };
}

/** The common part of all clients that tests need. */
interface AnyClient {
  readonly isOpen: boolean;
  readonly isReady?: boolean;
  on(event: "error" | "ready", listener: () => void): unknown;
  connect(): Promise<unknown>;
  set(key: string, value: string): Promise<unknown>;
  destroy(): void;
}

function underTest(
  client: AnyClient & (NodeRedisClient | NodeRedisCluster),
  options: RedisNodeOptions | undefined,
): ClientUnderTest {
  client.on("error", () => {});
  client.connect().catch(() => {});
  const openNode = (nodeOptions?: RedisNodeOptions) => nodeRedisNode(client, nodeOptions);
  return {
    node: openNode(options),
    openNode,
    openStore: (storeOptions) => nodeRedisFencedStore(client, storeOptions),
    isReady: () => client.isReady ?? client.isOpen,
    onReady: (listener) => void client.on("ready", listener),
    flood: (payload) => void client.set("flood", payload).catch(() => {}),
    close: () => client.destroy(),
  };
}
