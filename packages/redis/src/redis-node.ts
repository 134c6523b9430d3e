import {
  closedError,
  type Floor,
  type FloorRequest,
  type LockNode,
  type NodeView,
  type ScanPortion,
  type ScanRequest,
  ServerCheck,
  type Unwatch,
} from "@holdfast/core/node";
import type { RedisConnection } from "./connection.ts";
import { encoderFor } from "./encoding.ts";
import { floorCalls } from "./floor/floor-calls.ts";
import { channelPrefix, lockKey } from "./keys.ts";
import { Notifications } from "./notifications.ts";
import { parseOptions, type RedisNodeOptions } from "./options.ts";
import { Sender } from "./sender.ts";

/** A lock node on a Redis-speaking server. */
export interface RedisNode extends LockNode {
  /** See {@link LockNode.watch}. Absent when the option `wakeUps` is false, or the client cannot listen. */
  watch?(resources: readonly string[], onReleased: (resource: string, next?: string) => void): Promise<Unwatch>;

  /** See {@link LockNode.inspect}. `remainingMs` is also null if another program keeps the key without a ttl. */
  inspect(resource: string): Promise<NodeView>;

  /**
   * See {@link LockNode.raiseFloor}. Raises all counters of the prefix: 16 384 keys, in portions, which takes some
   * seconds on a Redis Cluster. Rejects if a server restarts meanwhile, as it may have forgotten those that were raised
   * before. Needs the permissions `+info`, `+mget`, `+mset` and `+exists`.
   */
  raiseFloor(request: FloorRequest): Promise<Floor>;

  /**
   * See {@link LockNode.scan}. Needs the permissions `+info`, `+mget`, `+exists`, `+strlen` and `+scan`; on a Redis
   * Cluster, instead of `+scan`, `+cluster|countkeysinslot` and `+cluster|getkeysinslot`. Rejects if the server has
   * restarted since the first portion, which is not noticed on a Redis Cluster, and if a slot of a cluster has more than
   * 100 000 keys. With an empty prefix, a claim is a string that ends in 32 hexadecimal digits, as owners do.
   */
  scan(request: ScanRequest): Promise<ScanPortion>;

  /**
   * Ends all watches and closes their connection, the only thing that the node owns. The client stays open, and locks
   * can still be extended and released; `acquire` and `watch` reject from then on. Safe to call more than once.
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
  const { name, prefix, wakeUps, restartGuardMs, verifyServer } = parseOptions(options, connection.name);
  const encoder = encoderFor(prefix, restartGuardMs, connection.isCluster);
  const sender = new Sender(connection, encoder, () => serverCheck?.invalidate());
  const serverCheck = verifyServer
    ? new ServerCheck(name, async (request) => sender.identify(encoder.identify(request), request.timeoutMs))
    : undefined;
  const openSubscriber = wakeUps ? connection.openSubscriber?.bind(connection) : undefined;
  const notifications = openSubscriber && new Notifications(openSubscriber);
  let isClosed = false;

  // This and `release` are not `async`, because that creates more promises for each lock.
  const acquire: RedisNode["acquire"] = (request) => {
    try {
      if (isClosed) throw closedError(request.resources);
      const record = encoder.acquire(request);
      if (!connection.isReady(record.key))
        return sender.afterConnecting(record, request.timeoutMs, () => acquire(request));
      const needsVerification = serverCheck?.begin(request);
      if (request.servers !== undefined) sender.isOneOfSeveral = true;
      const reply = sender.send(record, request.timeoutMs);
      return needsVerification ? (serverCheck as ServerCheck).verify(request, reply) : reply;
    } catch (error) {
      return Promise.reject(error);
    }
  };

  const node: RedisNode = {
    name,
    verifiesServer: verifyServer,
    acquire,

    async extend(request) {
      const record = encoder.extend(request);
      sender.assertReady(record.key);
      return sender.send(record, request.timeoutMs);
    },

    release(request) {
      try {
        return sender.send(encoder.release(request));
      } catch (error) {
        return Promise.reject(error);
      }
    },

    inspect: async (resource) => sender.inspect(encoder.inspect(resource, 100)),

    async close() {
      isClosed = true;
      notifications?.close();
    },

    ...floorCalls(connection, prefix, (resource) => sender.inspect(encoder.inspect(resource))),
  };
  if (notifications) {
    node.watch = async (resources, onReleased) => {
      if (isClosed) throw closedError(resources);
      const keys = resources.map((resource) => lockKey(prefix, resource));
      sender.assertReady(keys[0] as string);
      const channels = keys.map((key) => channelPrefix + key);
      return notifications.watch(channels, resources, onReleased);
    };
  }
  return node;
}
