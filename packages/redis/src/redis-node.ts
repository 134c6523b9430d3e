import type { LockNode, NodeRequest, NodeView, Unwatch } from "@holdfast/core";
import { insistOnAcquire, insistOnExtend, insistOnRelease } from "@holdfast/core/requests";
import { scriptCalls } from "./calls.ts";
import type { RedisConnection } from "./connection.ts";
import { channelPrefix, keyNames } from "./keys.ts";
import { parseOptions, type RedisNodeOptions } from "./options.ts";
import { readAcquireReply, readExtendReply, readIntroduction, readNodeView, readReleaseReply } from "./replies.ts";
import { createSender } from "./sender.ts";
import { createStanding } from "./standing.ts";
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
  const settings = parseOptions(options, connection.name);
  const { name, wakeUps } = settings;
  const names = keyNames(settings.prefix, connection.isCluster);
  const calls = scriptCalls(settings, names);
  const sender = createSender(connection);
  const introduce = async (request: NodeRequest) =>
    readIntroduction(await sender.introduce(request, calls.introduce(request)));
  const standing = settings.verifyServer ? createStanding(name, introduce) : undefined;
  const watching = wakeUps && connection.openSubscriber && createWakeUps(connection.openSubscriber.bind(connection));

  const node: RedisNode = {
    name,

    async acquire(request) {
      insistOnAcquire(request);
      const call = calls.acquire(request);
      const claim = () => sender.claim("acquire", request, call);
      try {
        sender.insistOnReadiness(call.keys);
        return readAcquireReply(await (standing ? standing.vote(request, claim) : claim()));
      } catch (error) {
        if (!sender.isConnected(call.keys)) standing?.doubt();
        throw error;
      }
    },

    async extend(request) {
      insistOnExtend(request);
      return readExtendReply(await sender.claim("extend", request, calls.extend(request)));
    },

    async release(request) {
      insistOnRelease(request);
      return readReleaseReply(await sender.release(request, calls.release(request)));
    },

    async inspect(resource) {
      return readNodeView(await sender.inspect(calls.inspect(resource)));
    },

    async close() {
      if (watching) watching.close();
    },
  };
  if (watching) {
    node.watch = async (resources, onReleased) => {
      const keys = resources.map(names.lockKey);
      sender.insistOnConnection(keys);
      const channels = keys.map((key) => channelPrefix + key);
      return watching.watch(channels, resources, onReleased);
    };
  }
  return node;
}
