import type { Latency, ServerView } from "../../doctor/facts.ts";

/** The observations of a Redis or Valkey server. Everything that its user may not see is null. */
export interface RedisView extends ServerView {
  readonly kind: "redis";
  readonly latency: Latency;
  readonly info: Info | null;
  /** The setting `appendfsync`. */
  readonly appendfsync: string | null;
  /** Whether it does not wait for the disk during a save or a rewrite (`no-appendfsync-on-rewrite`). */
  readonly pausesFsync: boolean;
  /** The number of sentinels that monitor it. */
  readonly sentinels: number | null;
  readonly access: Access;
}

/** The fields of `INFO`. */
export interface Info {
  readonly product: "Redis" | "Valkey";
  readonly version: string;
  readonly runId: string;
  readonly uptimeMs: number;
  /** The master that it replicates; null if it is a master itself. */
  readonly replicaOf: string | null;
  /** The number of its replicas. */
  readonly replicas: number;
  readonly isCluster: boolean;
  readonly appendonly: boolean;
  /** The limit in bytes; 0: no limit. */
  readonly maxmemory: number;
  readonly maxmemoryPolicy: string;
}

/** The permissions of the user. */
export interface Access {
  /** The missing permissions for locks, in the syntax of `ACL SETUSER`. */
  readonly missing: readonly string[];
  /** The missing permissions for notifications, and for waiting lists that name the next waiter. */
  readonly missingForWakeUps: readonly string[];
  /** The missing permissions for shared locks. */
  readonly missingForSharing: readonly string[];
  /** The commands that the server lacks. */
  readonly unknownCommands: readonly string[];
  /** Whether clients may connect without a password; null if this could not be tested. */
  readonly isOpen: boolean | null;
  /** Whether the keys of a call must belong to one slot. */
  readonly isSharded: boolean;
}
