/** Holdfast lock nodes over ioredis clients. */

export type { RedisNode, RedisNodeOptions } from "@holdfast/redis";
export type { IoredisClient, IoredisCommand, IoredisOptions, IoredisServer, IoredisSubscriber } from "./client.ts";
export { ioredisNode } from "./ioredis-node.ts";
