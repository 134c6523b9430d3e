import { createHash } from "node:crypto";
import type { LockNames } from "@holdfast/redis";
import type { Redis, RedisOptions } from "ioredis";
import { withoutArguments } from "../../output/print.ts";
import { within } from "../../within.ts";

/** The ttl of trial keys in milliseconds, in case this program is killed before it removes them. */
const leftoverMs = 5_000;

/** The timeout of a second connection, and of each reply on it, in milliseconds. */
const duplicateTimeoutMs = 2_000;

/** A command that locks need. */
interface Trial {
  readonly words: readonly [command: string, ...args: (string | number)[]];
  /** The permission for the key or channel that the command uses. */
  readonly names?: string;
}

/**
 * Finds the missing permissions of the user: runs the commands of the lock script one by one, on separate keys. `ACL
 * DRYRUN` would need a permission that locks do not need, and Redis 7.
 *
 * @param names the names of a resource that nobody else uses
 * @param prefix the prefix in these names
 */
export async function tryAccess(client: Redis, ask: Ask, names: LockNames, prefix: string): Promise<Access> {
  const trials = trialsOf(names, prefix);
  const unknownCommands = new Set<string>();
  const locks = await denied(ask, trials.locks, unknownCommands);
  const wakeUps = await denied(ask, trials.wakeUps, unknownCommands);
  const sharing = await denied(ask, trials.sharing, unknownCommands);
  // On a separate connection, as waiters use one.
  const ofWaiters = await withDuplicate(client, {}, (own) => denied(own, trials.subscription, unknownCommands));
  const forWakeUps = new Set([...wakeUps, ...(ofWaiters ?? [])]);
  return {
    missing: [...locks],
    missingForWakeUps: [...forWakeUps].filter((permission) => !locks.has(permission)),
    missingForSharing: [...sharing].filter((permission) => !locks.has(permission) && !forWakeUps.has(permission)),
    unknownCommands: [...unknownCommands],
    isOpen: await isOpenToAll(client),
    isSharded: await isSharded(ask, prefix),
  };
}

/** Returns the commands that locks need, by purpose. */
function trialsOf({ lock, waitingList, sharers, channel }: LockNames, prefix: string) {
  const script = "return 1";
  // Not the counter of the resource, which covers other locks as well.
  const fence = "holdfast:fence:holdfast-doctor";
  const [locks, fences, lines] = [`~${prefix}*`, "~holdfast:fence:*", "~holdfast:line:*"];
  const [sets, channels] = ["~holdfast:sharers:*", "&holdfast:released:*"];
  return {
    locks: [
      { words: ["EVAL", script, 0] },
      { words: ["EVALSHA", createHash("sha1").update(script).digest("hex"), 0] },
      { words: ["TIME"] },
      { words: ["SET", lock, "doctor", "PX", leftoverMs], names: locks },
      { words: ["GET", lock], names: locks },
      { words: ["PTTL", lock], names: locks },
      { words: ["PEXPIRE", lock, leftoverMs], names: locks },
      { words: ["DEL", lock], names: locks },
      { words: ["SET", fence, 1, "PX", leftoverMs], names: fences },
      { words: ["DEL", fence], names: fences },
      // Scripts have these keys, whether or not there are waiters and sharers.
      { words: ["EVAL", script, 1, waitingList], names: lines },
      { words: ["EVAL", script, 1, sharers], names: sets },
    ],
    wakeUps: [
      { words: ["ZADD", waitingList, "NX", 1, "doctor"], names: lines },
      { words: ["PEXPIRE", waitingList, leftoverMs], names: lines },
      { words: ["ZREVRANGE", waitingList, 0, 0, "WITHSCORES"], names: lines },
      { words: ["ZREM", waitingList, "doctor"], names: lines },
      { words: ["ZPOPMIN", waitingList], names: lines },
      { words: ["PUBLISH", channel, ""], names: channels },
    ],
    subscription: [
      { words: ["subscribe", channel], names: channels },
      { words: ["unsubscribe", channel], names: channels },
    ],
    sharing: [
      { words: ["ZADD", sharers, 1, "doctor"], names: sets },
      { words: ["ZSCORE", sharers, "doctor"], names: sets },
      { words: ["ZRANGEBYSCORE", sharers, 1, 1], names: sets },
      { words: ["ZREVRANGE", sharers, 0, 0, "WITHSCORES"], names: sets },
      { words: ["ZREMRANGEBYSCORE", sharers, 0, 0], names: sets },
      { words: ["ZREM", sharers, "doctor"], names: sets },
      { words: ["DEL", sharers], names: sets },
      { words: ["PEXPIREAT", lock, 1], names: locks },
    ],
  } satisfies Readonly<Record<string, readonly Trial[]>>;
}

/** Returns whether the keys of a call must belong to one slot, as on a cluster and behind a proxy of shards. */
async function isSharded(ask: Ask, prefix: string): Promise<boolean> {
  const keys = ["{a}", "{b}"].map((tag) => `${prefix}${tag}-holdfast-doctor`);
  const answer = await ask("EVAL", "return 1", keys.length, ...keys);
  return !answer.ok && /^(CROSSSLOT|MOVED) |slot|non local/.test(answer.error);
}

/** Returns the permissions that are missing for trials, and adds the commands that the server lacks. */
async function denied(ask: Ask, trials: readonly Trial[], unknownCommands: Set<string>): Promise<ReadonlySet<string>> {
  const permissions = new Set<string>();
  for (const { words, names } of trials) {
    const answer = await ask(...words);
    if (answer.ok) continue;
    const [command] = words;
    if (answer.error.startsWith("NOPERM")) {
      // "no permissions to run the 'set' command", or "… to access one of the keys", in the words of several versions.
      const isAboutName = names !== undefined && !/ to run /.test(answer.error);
      permissions.add(isAboutName ? names : `+${command.toLowerCase()}`);
    } else if (/^ERR unknown command/i.test(answer.error)) {
      unknownCommands.add(command);
    }
  }
  return permissions;
}

/** Returns whether the server accepts clients without a user and a password; null if this cannot be tested. */
async function isOpenToAll(client: Redis): Promise<boolean | null> {
  // In RESP2, because the handshake of RESP3 already fails without a password.
  const anonymous = { username: undefined, password: undefined, protocol: 2 } as const;
  return withDuplicate(client, anonymous, async (ask) => {
    const answer = await ask("PING");
    return answer.ok || answer.error.startsWith("NOPERM");
  });
}

/** Runs `use` with a second connection. Resolves with null if it cannot be opened. */
async function withDuplicate<T>(
  client: Redis,
  overrides: Partial<RedisOptions>,
  use: (ask: Ask) => Promise<T>,
): Promise<T | null> {
  const duplicate = client.duplicate({ ...overrides, lazyConnect: true, retryStrategy: null });
  duplicate.on("error", () => {});
  try {
    await within(duplicateTimeoutMs, duplicate.connect());
    return await use(asking(duplicate, duplicateTimeoutMs));
  } catch {
    return null;
  } finally {
    duplicate.disconnect();
  }
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

/** The reply to one command. An error reply is also an answer: the server works, but refuses. */
export type Answer = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: string };

/** Sends one command. Rejects if no reply arrives. */
export type Ask = (command: string, ...args: readonly (string | number)[]) => Promise<Answer>;

/** Returns a function that sends commands with a timeout. */
export function asking(client: Redis, timeoutMs: number): Ask {
  return async (command, ...args) => {
    try {
      return { ok: true, value: await within(timeoutMs, client.call(command, ...args)) };
    } catch (error) {
      if ((error as Error).name === "ReplyError")
        return { ok: false, error: withoutArguments((error as Error).message) };
      throw error;
    }
  };
}

/** Returns the value of an answer if it is a string, otherwise null. */
export function textOf(answer: Answer): string | null {
  return answer.ok && typeof answer.value === "string" ? answer.value : null;
}
