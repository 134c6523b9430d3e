/** Holdfast lock nodes over node-redis clients. */

export type { RedisNode, RedisNodeOptions } from "@holdfast/redis";
export type {
  NodeRedisClient,
  NodeRedisCluster,
  NodeRedisCommandOptions,
  NodeRedisOptions,
  NodeRedisServer,
  NodeRedisShard,
  NodeRedisSubscriber,
} from "./client.ts";
export { nodeRedisNode } from "./node-redis-node.ts";
