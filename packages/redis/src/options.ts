import { assertOptions } from "@holdfast/core/requests";
import { fenceKeyPrefix, isWellFormed } from "./keys.ts";

/** How a node names its keys and what it does beyond locking. */
export interface RedisNodeOptions {
  /** Names the node in errors, events and logs. Default: the host and port of the client. */
  readonly name?: string;
  /**
   * What the keys of locks begin with; the resource follows. Default: `"lock:"`. With `""` the keys are those of other
   * Redlock implementations, so that a lock of either keeps the other out.
   */
  readonly prefix?: string;
  /**
   * How long the fence counter of a resource outlives its last claim, in milliseconds: a positive integer, or `Infinity`
   * to keep it for ever. Default: 86 400 000, a day. Choose it longer than a client may be suspended and then still
   * write with its old token.
   */
  readonly fenceTtlMs?: number;
  /**
   * Whether this node listens for releases, over a second connection, so that a waiting client tries again as soon as its
   * turn comes. Default: true. Without it, waiting means trying again after a random delay. Releases notify other clients
   * in either case, and a request with a waiter enters the waiting lists.
   */
  readonly wakeUps?: boolean;
  /**
   * How long a server that has restarted does not vote for new locks, in milliseconds from its start: at least the longest
   * ttl that any client uses on it, as it may have forgotten claims that last so long. What it is asked to hold for longer is
   * refused. Extensions and releases go on meanwhile. Needs the permission `+info`. Default: 0, none.
   */
  readonly restartGuardMs?: number;
  /**
   * Whether the server is asked who it is when the node is first used: a replica, and a server on which another node of the
   * same `Redlock` is already, are refused with a `ConfigurationError`. Needs the permission `+info`, and is left out
   * without it. Default: true. Turn it off where tests put several nodes on one server.
   */
  readonly verifyServer?: boolean;
}

/** The same, complete. */
export interface Settings {
  readonly name: string;
  readonly prefix: string;
  readonly fenceTtlMs: number;
  readonly wakeUps: boolean;
  readonly restartGuardMs: number;
  readonly verifyServer: boolean;
}

/** The names of all options. */
export const redisNodeOptionNames: readonly string[] = [
  "name",
  "prefix",
  "fenceTtlMs",
  "wakeUps",
  "restartGuardMs",
  "verifyServer",
];

/** The default of `fenceTtlMs`. */
export const dayMs: number = 24 * 60 * 60 * 1000;

/**
 * Checks the options and fills in what is missing.
 *
 * @throws {TypeError | RangeError} naming the option and what is wanted
 */
export function parseOptions(options: RedisNodeOptions, defaultName: string): Settings {
  assertOptions(options, redisNodeOptionNames, "a lock node");
  const { name = defaultName, prefix = "lock:", fenceTtlMs = dayMs, wakeUps = true } = options;
  const { restartGuardMs = 0, verifyServer = true } = options;
  if (typeof name !== "string") throw new TypeError(`name must be a string, not ${typeof name}`);
  if (name === "") throw new RangeError("name must not be empty: it names the node in errors and events");
  if (typeof prefix !== "string") throw new TypeError(`prefix must be a string, not ${typeof prefix}`);
  if (!isWellFormed(prefix)) throw new RangeError("prefix must be well-formed Unicode");
  if (prefix.startsWith(fenceKeyPrefix)) {
    throw new RangeError(`prefix must not begin with ${fenceKeyPrefix}: such keys are for fence counters`);
  }
  assertFenceTtl(fenceTtlMs);
  if (typeof wakeUps !== "boolean") throw new TypeError(`wakeUps must be true or false, not ${typeof wakeUps}`);
  if (typeof restartGuardMs !== "number") {
    throw new TypeError(`restartGuardMs must be a number, not ${typeof restartGuardMs}`);
  }
  if (!(Number.isSafeInteger(restartGuardMs) && restartGuardMs >= 0)) {
    throw new RangeError(`restartGuardMs must be 0 or a positive integer (milliseconds): ${restartGuardMs}`);
  }
  if (typeof verifyServer !== "boolean") {
    throw new TypeError(`verifyServer must be true or false, not ${typeof verifyServer}`);
  }
  return { name, prefix, fenceTtlMs, wakeUps, restartGuardMs, verifyServer };
}

/** Throws unless it is how long fences may be kept. */
export function assertFenceTtl(fenceTtlMs: unknown): void {
  if (typeof fenceTtlMs !== "number") throw new TypeError(`fenceTtlMs must be a number, not ${typeof fenceTtlMs}`);
  if (fenceTtlMs !== Infinity && !(Number.isSafeInteger(fenceTtlMs) && fenceTtlMs > 0)) {
    throw new RangeError(`fenceTtlMs must be a positive integer (milliseconds) or Infinity: ${fenceTtlMs}`);
  }
}
