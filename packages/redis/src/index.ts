/** The shared base of the Holdfast adapters for Redis-speaking servers. Applications use one of those adapters. */

// For authors of adapters
export { assertOptions } from "@holdfast/core/node";
export { type ClientEvents, type WatchedClient, watchClient } from "./client-errors.ts";
export type { RedisConnection, RedisSubscriber, ScriptCall } from "./connection.ts";
export type { FencedConnection } from "./fenced/connection.ts";
// For users of the adapters
export { type FencedAction, StaleFenceError, StoreTimeoutError } from "./fenced/errors.ts";
export type { FencedStoreOptions, FencedWriteOptions } from "./fenced/options.ts";
export { type FencedStore, type FencedValue, fencedStore } from "./fenced/store.ts";
export { clusterSlot, type LockNames, lockNames, tagOfSlot } from "./keys.ts";
export { type Address, clusterName, randomName, serverName } from "./names.ts";
export { type RedisNodeOptions, redisNodeOptionNames } from "./options.ts";
export { type RedisNode, redisNode } from "./redis-node.ts";
