/** Holdfast lock nodes and fenced stores over ioredis clients. */

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
export type { IoredisClient, IoredisCommand, IoredisOptions, IoredisServer, IoredisSubscriber } from "./client.ts";
export { ioredisFencedStore } from "./ioredis-fenced-store.ts";
export { ioredisNode } from "./ioredis-node.ts";
