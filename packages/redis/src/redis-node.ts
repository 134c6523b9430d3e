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
import { channelPrefix, floorKey, keyNames } from "./keys.ts";
import { Notifications } from "./notifications.ts";
import { parseOptions, type RedisNodeOptions } from "./options.ts";
import { ServerCheck, type ServerIdentity } from "./server-check.ts";

/** A lock node on a Redis-speaking server. */
export interface RedisNode extends LockNode {
  /** See {@link LockNode.watch}. Absent when the option `wakeUps` is false, or the client cannot listen. */
  watch?(resources: readonly string[], onReleased: (resource: string, next?: string) => void): Promise<Unwatch>;

  /** See {@link LockNode.inspect}. `remainingMs` is also null if another program keeps the key without a ttl. */
  inspect(resource: string): Promise<NodeView>;

  /** See {@link LockNode.raiseFloor}. Absent on a Redis Cluster. Needs the permission `+info`. */
  raiseFloor?(request: FloorRequest): Promise<Floor>;

  /**
   * See {@link LockNode.scan}. Absent on a Redis Cluster. Needs the permissions `+scan` and `+info`. Rejects if the
   * server has restarted since the first portion. A claim is found by its fence counter: a claim whose counter another
   * program has deleted is not found.
   */
  scan?(request: ScanRequest): Promise<ScanPortion>;

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
  // The floor of a cluster would be in another slot than most locks.
  const header = { guardMs: restartGuardMs, floorKey: isCluster ? "" : floorKey(prefix) };
  const batcher = new Batcher(connection, header, () => serverCheck?.invalidate());
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
      batcher.assertReady(record.keys[0] as string, owner);
      const needsVerification = serverCheck?.begin(request);
      const reply = batcher.claim(record, owner, timeoutMs) as Promise<AcquireReply>;
      return needsVerification ? (serverCheck as ServerCheck).verify(request, reply) : reply;
    }),

    extend: rejecting((request: ExtendRequest): Promise<ExtendReply> => {
      const record = encoder.extend(request);
      if (restartGuardMs !== 0) assertTtl(request, restartGuardMs);
      batcher.assertReady(record.keys[0] as string);
      return batcher.claim(record, request.owner, request.timeoutMs) as Promise<ExtendReply>;
    }),

    release: rejecting((request) => {
      const { owner, undo = false } = request;
      return batcher.release(encoder.release(request), owner, undo) as Promise<ReleaseReply>;
    }),

    inspect: rejecting((resource) => batcher.inspect(encoder.inspect(resource)) as Promise<NodeView>),

    async close() {
      notifications?.close();
    },

    ...(!isCluster && floorCalls(connection, prefix)),
  };
  if (notifications) {
    const { lockKeys } = keyNames(prefix, isCluster);
    node.watch = async (resources, onReleased) => {
      const keys = resources.flatMap((resource) => lockKeys([resource]));
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
