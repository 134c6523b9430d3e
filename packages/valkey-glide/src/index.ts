/** Holdfast lock nodes and fenced stores over Valkey GLIDE clients. */

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
  ValkeyGlideClient,
  ValkeyGlideExecOptions,
  ValkeyGlideMessage,
  ValkeyGlideSubscriber,
} from "./client.ts";
export { valkeyGlideFencedStore } from "./valkey-glide-fenced-store.ts";
export { type ValkeyGlideNodeOptions, valkeyGlideNode } from "./valkey-glide-node.ts";
