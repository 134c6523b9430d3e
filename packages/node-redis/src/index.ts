/** Holdfast lock nodes and fenced stores over node-redis clients. */

export {
  type FencedAction,
  type FencedStore,
  type FencedStoreOptions,
  type FencedValue,
  type FencedWriteOptions,
  type RedisNode,
  type RedisNodeOptions,
  StaleFenceError,
  StoreTimeoutError,
} from "@holdfast/redis";
export type {
  NodeRedisClient,
  NodeRedisCluster,
  NodeRedisCommandOptions,
  NodeRedisOptions,
  NodeRedisServer,
  NodeRedisShard,
  NodeRedisSubscriber,
  NodeRedisTypeMapping,
} from "./client.ts";
export { nodeRedisFencedStore } from "./node-redis-fenced-store.ts";
export { nodeRedisNode } from "./node-redis-node.ts";
