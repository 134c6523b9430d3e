import {
  type AcquireReply,
  type AcquireRequest,
  ConfigurationError,
  type ExtendReply,
  type ExtendRequest,
  type Floor,
  type FloorRequest,
  type LockNode,
  type NodeView,
  type ReleaseReply,
  type ScanPortion,
  type ScanRequest,
  type Unwatch,
} from "@holdfast/core";
import { Batcher } from "./batcher.ts";
import type { RedisConnection } from "./connection.ts";
import { encoderFor } from "./encoding.ts";
import { floorCalls } from "./floor/floor-calls.ts";
import { channelPrefix } from "./keys.ts";
import { Notifications } from "./notifications.ts";
import { parseOptions, type RedisNodeOptions } from "./options.ts";
import { ServerCheck, type ServerIdentity } from "./server-check.ts";

/** A lock node on a Redis-speaking server. */
export interface RedisNode extends LockNode {
  /** See {@link LockNode.watch}. Absent when the option `wakeUps` is false, or the client cannot listen. */
  watch?(resources: readonly string[], onReleased: (resource: string, next?: string) => void): Promise<Unwatch>;

  /** See {@link LockNode.inspect}. `remainingMs` is also null if another program keeps the key without a ttl. */
  inspect(resource: string): Promise<NodeView>;

  /**
   * See {@link LockNode.raiseFloor}. Raises all counters of the prefix: 16 384 keys, in portions, or one by one on a
   * Redis Cluster, which takes a second or so. Rejects if a server restarts meanwhile, as it may have forgotten those
   * that were raised before. Needs the permission `+info`.
   */
  raiseFloor(request: FloorRequest): Promise<Floor>;

  /**
   * See {@link LockNode.scan}. Needs the permissions `+info`, `+strlen` and `+scan`; on a Redis Cluster, instead of
   * `+scan`, `+cluster|countkeysinslot` and `+cluster|getkeysinslot`. Rejects if the server has restarted since the
   * first portion, which is not noticed on a Redis Cluster. With an empty prefix, a claim is a string that ends in 32
   * hexadecimal digits, as owners do.
   */
  scan(request: ScanRequest): Promise<ScanPortion>;

  /**
   * Ends all watches and closes their connection, the only thing that the node owns. The client stays open, and locks
   * can still be acquired, extended and released; only `watch` rejects from then on. Safe to call more than once.
   */
  close(): Promise<void>;
}

/**
 * Returns a lock node over a connection. Every adapter calls it with a connection over its client.
 *
 * @param connection sends the commands
 * @param options see {@link RedisNodeOptions}
 * @throws {TypeError | RangeError} naming the option that is wrong
 *
 * @example
 * ```ts
 * import { type RedisConnection, type RedisNode, redisNode } from "@holdfast/redis";
 *
 * function nodeOver(connection: RedisConnection): RedisNode {
 *   return redisNode(connection, { prefix: "shop:lock:" });
 * }
 * ```
 */
export function redisNode(connection: RedisConnection, options: RedisNodeOptions = {}): RedisNode {
  const settings = parseOptions(options, connection.name);
  const { name, prefix, wakeUps, restartGuardMs, verifyServer } = settings;
  const { isCluster } = connection;
  const encoder = encoderFor({ ...settings, isCluster });
  const batcher = new Batcher(connection, restartGuardMs, () => serverCheck?.invalidate());
  const identify = async (request: AcquireRequest) =>
    (await batcher.identify(encoder.identify(request), request.timeoutMs)) as ServerIdentity;
  const serverCheck = verifyServer ? new ServerCheck(name, identify) : undefined;
  const openSubscriber = wakeUps ? connection.openSubscriber?.bind(connection) : undefined;
  const notifications = openSubscriber && new Notifications(openSubscriber);

  const node: RedisNode = {
    name,
    verifiesServer: verifyServer,

    acquire: rejecting((request: AcquireRequest): Promise<AcquireReply> => {
      const record = encoder.acquire(request);
      if (restartGuardMs !== 0) assertTtl(request, restartGuardMs);
      const { owner, timeoutMs } = request;
      batcher.assertReady(record.firstKey, owner);
      const needsVerification = serverCheck?.begin(request);
      const reply = batcher.claim(record, owner, timeoutMs) as Promise<AcquireReply>;
      return needsVerification ? (serverCheck as ServerCheck).verify(request, reply) : reply;
    }),

    extend: rejecting((request: ExtendRequest): Promise<ExtendReply> => {
      const record = encoder.extend(request);
      if (restartGuardMs !== 0) assertTtl(request, restartGuardMs);
      batcher.assertReady(record.firstKey);
      return batcher.claim(record, request.owner, request.timeoutMs) as Promise<ExtendReply>;
    }),

    release: rejecting((request) => {
      const { owner, undo = false } = request;
      return batcher.release(encoder.release(request), owner, undo) as Promise<ReleaseReply>;
    }),

    inspect: rejecting((resource) => batcher.inspect(encoder.inspect(resource, 100)) as Promise<NodeView>),

    async close() {
      notifications?.close();
    },

    ...floorCalls(connection, prefix, (resource) => {
      return batcher.inspect(encoder.inspect(resource)) as Promise<NodeView>;
    }),
  };
  if (notifications) {
    node.watch = async (resources, onReleased) => {
      const keys = resources.map(encoder.lockKey);
      batcher.assertReady(keys[0] as string);
      const channels = keys.map((key) => channelPrefix + key);
      return notifications.watch(channels, resources, onReleased);
    };
  }
  return node;
}

/**
 * Makes an operation reject with the errors that it throws. Not `async`, because that creates more promises per
 * operation.
 */
function rejecting<Argument, Answer>(
  operate: (argument: Argument) => Promise<Answer>,
): (argument: Argument) => Promise<Answer> {
  return (argument) => {
    try {
      return operate(argument);
    } catch (error) {
      return Promise.reject(error);
    }
  };
}

/**
 * Throws if the ttl is longer than the guard: the server could forget the claim in a restart, and grant its resources
 * again.
 */
function assertTtl({ ttlMs, resources }: AcquireRequest | ExtendRequest, restartGuardMs: number): void {
  if (ttlMs <= restartGuardMs) return;
  const rule = `ttlMs must not be longer than the restartGuardMs of the node, ${restartGuardMs}`;
  throw new ConfigurationError(`${rule}, not ${ttlMs}`, resources);
}
