/** Holdfast lock nodes over Valkey GLIDE clients. */

export type { RedisNode, RedisNodeOptions } from "@holdfast/redis";
export type {
  ValkeyGlideClient,
  ValkeyGlideExecOptions,
  ValkeyGlideMessage,
  ValkeyGlideSubscriber,
} from "./client.ts";
export { type ValkeyGlideNodeOptions, valkeyGlideNode } from "./valkey-glide-node.ts";
