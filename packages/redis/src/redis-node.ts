import {
  type AcquireRequest,
  ConfigurationError,
  type ExtendRequest,
  type LockNode,
  type NodeRequest,
  type NodeView,
  type Unwatch,
} from "@holdfast/core";
import { assertAcquire, assertExtend, assertRelease } from "@holdfast/core/requests";
import type { RedisConnection } from "./connection.ts";
import { channelPrefix, keyNames } from "./keys.ts";
import { parseOptions, type RedisNodeOptions, type Settings } from "./options.ts";
import { phrasesOf } from "./phrases.ts";
import { acquireReader, extendReader, introductionReader, nodeViewReader, releaseReader } from "./replies.ts";
import { createSender } from "./sender.ts";
import { createStanding } from "./standing.ts";
import { createWakeUps } from "./wake-ups.ts";

/** A lock node on a Redis-speaking server. */
export interface RedisNode extends LockNode {
  /** See {@link LockNode.watch}. Absent when the option `wakeUps` is false, or the client cannot listen. */
  watch?(resources: readonly string[], onReleased: (resource: string, next?: string) => void): Promise<Unwatch>;

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
  const { name, prefix, wakeUps } = settings;
  const phrases = phrasesOf({ ...settings, isCluster: connection.isCluster });
  const sender = createSender(connection, settings, () => standing?.doubt());
  const introduce = async (request: NodeRequest) =>
    sender.introduce(request, phrases.introduce(request), introductionReader);
  const standing = settings.verifyServer ? createStanding(name, introduce) : undefined;
  const watching = wakeUps && connection.openSubscriber && createWakeUps(connection.openSubscriber.bind(connection));

  const node: RedisNode = {
    name,

    acquire: rejecting((request) => {
      assertAcquire(request);
      insistOnTtl(request, settings);
      const phrase = phrases.acquire(request);
      sender.insistOnReadiness(request, phrase);
      const introduced = standing?.introduce(request);
      const reply = sender.claim(request, phrase, acquireReader);
      return standing && introduced ? standing.judge(introduced, request, reply) : reply;
    }),

    extend: rejecting((request) => {
      assertExtend(request);
      insistOnTtl(request, settings);
      return sender.claim(request, phrases.extend(request), extendReader);
    }),

    release: rejecting((request) => {
      assertRelease(request);
      return sender.release(request, phrases.release(request), releaseReader);
    }),

    inspect: rejecting((resource) => sender.inspect(phrases.inspect(resource), nodeViewReader)),

    async close() {
      if (watching) watching.close();
    },
  };
  if (watching) {
    const { lockKey } = keyNames(prefix, connection.isCluster);
    node.watch = async (resources, onReleased) => {
      const keys = resources.map(lockKey);
      sender.insistOnConnection(keys[0] as string);
      const channels = keys.map((key) => channelPrefix + key);
      return watching.watch(channels, resources, onReleased);
    };
  }
  return node;
}

/** Has an operation reject with what it throws. Not `async`, as that would make more promises of each. */
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

/** A claim that outlasts the guard could be forgotten in a restart, and its resources granted again while it lasts. */
function insistOnTtl({ ttlMs, resources }: AcquireRequest | ExtendRequest, { restartGuardMs }: Settings): void {
  if (restartGuardMs === 0 || ttlMs <= restartGuardMs) return;
  const rule = `ttlMs must not be longer than the restartGuardMs of the node, ${restartGuardMs}`;
  throw new ConfigurationError(`${rule}, not ${ttlMs}`, resources);
}
