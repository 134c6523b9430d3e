import type { LockNode, NodeView, Unwatch } from "@holdfast/core";
import { insistOnAcquire, insistOnExtend, insistOnRelease } from "@holdfast/core/requests";
import type { RedisConnection } from "./connection.ts";
import { channelPrefix, fenceKey, keyNames } from "./keys.ts";
import { parseOptions, type RedisNodeOptions } from "./options.ts";
import { readAcquireReply, readExtendReply, readNodeView, readReleaseReply } from "./replies.ts";
import { createSender } from "./sender.ts";
import { createWakeUps } from "./wake-ups.ts";

/** A lock node on a Redis-speaking server. */
export interface RedisNode extends LockNode {
  /** See {@link LockNode.watch}. Absent when the option `wakeUps` is false, or the client cannot listen. */
  watch?(resources: readonly string[], onReleased: (resource: string) => void): Promise<Unwatch>;

  /** See {@link LockNode.inspect}. `remainingMs` is null, too, when a foreign program keeps the key without an end. */
  inspect(resource: string): Promise<NodeView>;

  /**
   * Ends all watches and closes the second connection that they need, the only thing that belongs to the node. The
   * client stays open, and locks can go on being acquired, extended and released; only `watch` rejects from now on.
   * Safe to call more than once.
   */
  close(): Promise<void>;
}

/**
 * Makes a lock node out of a connection: what every adapter for a Redis client does with what differs between them.
 *
 * @throws {TypeError | RangeError} naming the option that is wrong
 */
export function redisNode(connection: RedisConnection, options: RedisNodeOptions = {}): RedisNode {
  const { name, prefix, fenceTtlMs, wakeUps, restartGuardMs } = parseOptions(options, connection.name);
  const { lockKey, lockKeys } = keyNames(prefix, connection.isCluster);
  const sender = createSender(connection);
  const watching = wakeUps && connection.openSubscriber && createWakeUps(connection.openSubscriber.bind(connection));
  const announcement = wakeUps ? [channelPrefix] : [];
  const lockAndFenceKeys = (resources: readonly string[]): string[] => {
    const keys = lockKeys(resources);
    return [...keys, ...keys.map(fenceKey)];
  };
  const guardMs = String(restartGuardMs);
  const insistOnGuard = (ttlMs: number): void => {
    if (restartGuardMs > 0 && ttlMs > restartGuardMs) {
      throw new RangeError(`ttlMs must not be longer than the restartGuardMs of ${name}, ${restartGuardMs}: ${ttlMs}`);
    }
  };
  const keepMs = (ttlMs: number): string => (fenceTtlMs === Infinity ? "0" : String(ttlMs + fenceTtlMs));

  const node: RedisNode = {
    name,

    async acquire(request) {
      insistOnAcquire(request);
      const { resources, owner, ttlMs, fenceHint, takeover } = request;
      insistOnGuard(ttlMs);
      const keys = lockAndFenceKeys(resources);
      const rest = [owner, String(ttlMs), keepMs(ttlMs), String(fenceHint), guardMs];
      if (takeover !== undefined) rest.push(takeover);
      return readAcquireReply(await sender.claim("acquire", request, { keys, rest }));
    },

    async extend(request) {
      insistOnExtend(request);
      const { resources, owner, ttlMs, fence, rejoin } = request;
      insistOnGuard(ttlMs);
      const keys = lockAndFenceKeys(resources);
      const rest = [owner, String(ttlMs), keepMs(ttlMs), String(fence), rejoin ? "1" : "0"];
      return readExtendReply(await sender.claim("extend", request, { keys, rest }));
    },

    async release(request) {
      insistOnRelease(request);
      const { resources, owner } = request;
      const rest = [owner, ...announcement];
      return readReleaseReply(await sender.release(request, { keys: lockKeys(resources), rest }));
    },

    async inspect(resource) {
      const keys = lockAndFenceKeys([resource]);
      return readNodeView(await sender.inspect({ keys, rest: ["", guardMs] }));
    },

    async close() {
      if (watching) watching.close();
    },
  };
  if (watching) {
    node.watch = async (resources, onReleased) => {
      const keys = resources.map(lockKey);
      sender.insistOnConnection(keys);
      const channels = keys.map((key) => channelPrefix + key);
      return watching.watch(channels, resources, onReleased);
    };
  }
  return node;
}
