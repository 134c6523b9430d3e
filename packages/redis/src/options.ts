import { assertOptions, checkType } from "@holdfast/core/node";
import { reservationOf, type WellFormed } from "./keys.ts";

/** The options of a lock node. */
export interface RedisNodeOptions {
  /** The name of the node in errors, events and logs. Default: the host and port of the client. */
  readonly name?: string;
  /**
   * The prefix of the lock keys; the resource follows. Default: `"lock:"`. With `""`, locks are compatible with other
   * Redlock implementations: a lock of either keeps the other out. All Holdfast clients of a lock need the same prefix:
   * each prefix has fence counters of its own.
   */
  readonly prefix?: string;
  /**
   * Whether this node listens for releases, over a second connection, so that a waiting client retries as soon as it is
   * next. Default: true. Without it, a waiting client retries after a random delay. Releases notify other clients in
   * either case, and a request with a waiter enters the waiting lists.
   */
  readonly wakeUps?: boolean;
  /**
   * How long a server does not vote for new locks after its start, in milliseconds: at least the longest ttl that any
   * client uses on it, because it may have forgotten claims that last that long. A claim with a longer ttl is refused.
   * Extensions and releases continue to work. Needs the permission `+info`. Default: 0, none.
   */
  readonly restartGuardMs?: number;
  /**
   * Whether the node asks its server for its identity when it is first used. A replica, and a server that another node
   * of the same `Redlock` uses, are refused with a `ConfigurationError`. Needs the permission `+info`, and is skipped
   * without it. Default: true. Turn it off for tests that put several nodes on one server.
   */
  readonly verifyServer?: boolean;
}

/** The names of all options. */
export const redisNodeOptionNames: readonly string[] = ["name", "prefix", "wakeUps", "restartGuardMs", "verifyServer"];

/**
 * Checks the options and fills in the defaults.
 *
 * @throws {TypeError | RangeError} naming the option and what it must be
 */
export function parseOptions(options: RedisNodeOptions, defaultName: string): Required<RedisNodeOptions> {
  assertOptions(options, redisNodeOptionNames, "a lock node");
  const { name = defaultName, prefix = "lock:", wakeUps = true } = options;
  const { restartGuardMs = 0, verifyServer = true } = options;
  checkType("name", "string", name);
  if (name === "") throw new RangeError("name must not be empty: it names the node in errors and events");
  checkType("prefix", "string", prefix);
  if (!(prefix as WellFormed).isWellFormed()) throw new RangeError("prefix must be well-formed Unicode");
  const reserved = reservationOf(prefix);
  if (reserved) throw new RangeError(`prefix must not begin with ${reserved.prefix}: such keys are ${reserved.use}`);
  checkType("wakeUps", "boolean", wakeUps);
  checkType("restartGuardMs", "number", restartGuardMs);
  if (!(Number.isSafeInteger(restartGuardMs) && restartGuardMs >= 0)) {
    throw new RangeError(`restartGuardMs must be 0 or a positive integer (milliseconds), not ${restartGuardMs}`);
  }
  checkType("verifyServer", "boolean", verifyServer);
  return { name, prefix, wakeUps, restartGuardMs, verifyServer };
}
