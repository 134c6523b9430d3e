/** What redlock 4 and 5 share: their settings, the retries that these count, and how the clients voted. */
import { HoldfastError, type Lock, type LockError, type NodeOutcome, Redlock } from "@holdfast/core";
import { type Client, nodeOver } from "./nodes.ts";
import { withDefaults } from "./with-defaults.ts";

/** The settings that redlock 4 and 5 have in common. Durations are milliseconds. */
export interface RetrySettings {
  /** How far clocks may drift apart during a lock, as a fraction of its duration. Default 0.01. */
  readonly driftFactor: number;
  /** How often a failed attempt is repeated; -1 never gives up, and retries at the `Redlock`'s own pace. Default 10. */
  readonly retryCount: number;
  /** The mean time from one attempt to the next. Default 200. */
  readonly retryDelay: number;
  /** By how much that time varies at random. Default 100. */
  readonly retryJitter: number;
  /** Precedes each key, as the `keyPrefix` of a client does, which the clients must not have. Default: none. */
  readonly keyPrefix: string;
}

/** The defaults of both versions. */
export const retryDefaults: RetrySettings = {
  driftFactor: 0.01,
  retryCount: 10,
  retryDelay: 200,
  retryJitter: 100,
  keyPrefix: "",
};

/** How the clients voted in one attempt. */
export interface ExecutionStats {
  /** How many clients there are. */
  readonly membershipSize: number;
  /** How many of them decide. */
  readonly quorumSize: number;
  /** The clients that voted for it. */
  readonly votesFor: Set<Client>;
  /** The clients that voted against it, and why. */
  readonly votesAgainst: Map<Client, Error>;
}

/**
 * A client already holds another lock on one of the requested resources.
 *
 * @example
 * ```ts
 * import { Redlock, ResourceLockedError } from "@holdfast/compat/redlock";
 * import { Redis } from "ioredis";
 *
 * const jobs = new Redlock([new Redis()]);
 * jobs.on("error", (error) => {
 *   if (!(error instanceof ResourceLockedError)) console.error(error); // a server fails
 * });
 * await jobs.quit();
 * ```
 */
export class ResourceLockedError extends Error {
  override readonly name = "ResourceLockedError";
}

/** What the clients of a {@link RetryingRedlock} do that its events tell. */
interface Events {
  /** A client voted against an attempt. */
  denied?(error: ResourceLockedError): void;
  /** A client failed: it was down, too slow, or replied with an error. */
  failed(error: Error): void;
}

/** A call to acquire: its lock, or the error of its last attempt. */
export interface Acquisition {
  readonly lock?: Lock;
  readonly error?: HoldfastError;
  /** The votes of each attempt; of the last one only if there is no limit. */
  readonly attempts: readonly ExecutionStats[];
}

/** A `Redlock` of core that counts retries. */
export class RetryingRedlock {
  readonly clients: readonly Client[];
  readonly #core: Redlock;
  readonly #events: Events;
  /** The votes of the last attempt of a call, by the array with which events and errors name its resources. */
  readonly #votes = new WeakMap<readonly string[], ExecutionStats>();

  /**
   * @param clients one for each server
   * @param settings complete settings
   * @param events called with the votes against
   */
  constructor(clients: Iterable<Client>, settings: RetrySettings, events: Events) {
    const { driftFactor, retryDelay, keyPrefix } = settings;
    this.clients = [...new Set(clients)];
    this.#events = events;
    const retryDelayMs = Math.max(1, 2 * retryDelay); // core draws from 0 to this limit
    this.#core = new Redlock(
      this.clients.map((client) => nodeOver(client, keyPrefix)),
      {
        driftFactor,
        retryDelayMs,
        retryDelayMaxMs: retryDelayMs,
        observer: {
          attemptSettled: ({ resources, outcomes }) => {
            const stats = this.statsOf(resources, outcomes);
            this.#votes.set(resources, stats);
            this.#tellDenials(stats);
          },
          nodeFailed: ({ error }) => events.failed(error),
        },
      },
    );
  }

  /**
   * Makes `retryCount` + 1 attempts, each of which lasts until the next one is due: meanwhile core waits for a lock that
   * another call of this process releases, and retries. The last attempt does not wait.
   *
   * @throws {TypeError | RangeError} for bad arguments
   */
  async acquire(resources: readonly string[], ttlMs: number, settings: RetrySettings): Promise<Acquisition> {
    const { retryCount, retryDelay, retryJitter } = settings;
    const isEndless = retryCount === -1 || retryCount === Infinity;
    const attempts: ExecutionStats[] = [];
    for (let retries = 0; ; retries++) {
      const isLast = isEndless || retries >= retryCount;
      const delayMs = Math.max(0, retryDelay + Math.floor((Math.random() * 2 - 1) * retryJitter));
      const waitTimeoutMs = isEndless ? Infinity : isLast ? 0 : delayMs;
      try {
        const lock = await this.#core.acquire(resources, { ttlMs, waitTimeoutMs });
        return { lock, attempts: [...attempts, this.#votes.get(lock.resources) as ExecutionStats] };
      } catch (error) {
        if (!(error instanceof HoldfastError)) throw error;
        const isRetryable = retryable.includes((error as LockError).code);
        const votes = this.#votes.get(error.resources) ?? (isRetryable ? this.#heldHere(resources) : undefined);
        if (votes !== undefined) attempts.push(votes);
        if (!isLast && isRetryable) continue;
        // The releases of the attempt are sent at the end of this turn: before whatever the caller sends next.
        await new Promise(setImmediate);
        return { error, attempts };
      }
    }
  }

  /** Returns how the clients voted, as the old libraries put it. */
  statsOf(resources: readonly string[], outcomes: readonly NodeOutcome[]): ExecutionStats {
    const votesFor = new Set<Client>();
    const votesAgainst = new Map<Client, Error>();
    for (const [index, { kind, error }] of outcomes.entries()) {
      const client = this.clients[index] as Client;
      if (kind === "granted" || kind === "held" || kind === "released") votesFor.add(client);
      else if (kind !== "unanswered") votesAgainst.set(client, error ?? lockedError(resources));
    }
    const membershipSize = this.clients.length;
    return { membershipSize, quorumSize: Math.floor(membershipSize / 2) + 1, votesFor, votesAgainst };
  }

  /** Closes core, and then the clients. */
  async quit(): Promise<void> {
    await this.#core.close();
    await Promise.all(this.clients.map((client) => client.quit()));
  }

  /** Returns the votes of an attempt that asked nobody, because another call of this process has the lock. */
  #heldHere(resources: readonly string[]): ExecutionStats {
    const outcomes = this.clients.map((): NodeOutcome => ({ node: "", kind: "denied" }));
    const stats = this.statsOf(resources, outcomes);
    this.#tellDenials(stats);
    return stats;
  }

  #tellDenials({ votesAgainst }: ExecutionStats): void {
    for (const error of votesAgainst.values()) if (error instanceof ResourceLockedError) this.#events.denied?.(error);
  }
}

/** The codes of errors that a later attempt may not meet. */
const retryable: readonly LockError["code"][] = ["LOCK_HELD", "WAIT_TIMEOUT", "QUORUM_UNREACHABLE"];

function lockedError({ length }: readonly string[]): ResourceLockedError {
  return new ResourceLockedError(`The operation was applied to: 0 of the ${length} requested resources.`);
}

/**
 * Returns the settings of a `Redlock`.
 *
 * @throws {TypeError | RangeError} for an unknown setting, or one that is out of range
 */
export function completeSettings<Settings extends RetrySettings>(
  given: Partial<Settings>,
  defaults: Settings,
): Settings {
  return withDefaults(given, defaults, { of: "a Redlock", leasts: { retryCount: -1 } });
}

/** The settings that no call can change. */
const ownSettings = ["driftFactor", "keyPrefix", "db"];

/**
 * Returns the settings of a call.
 *
 * @param own those of the `Redlock`
 * @throws {TypeError | RangeError} also for one that no call can change
 */
export function settingsOfCall<Settings extends RetrySettings>(
  given: Partial<Settings> | undefined,
  own: Settings,
): Settings {
  if (given === undefined) return own;
  const settings = completeSettings(given, own);
  const changed = ownSettings.find((name) => settings[name as keyof Settings] !== own[name as keyof Settings]);
  if (changed !== undefined) throw new RangeError(`${changed} is a setting of the Redlock: a call cannot change it`);
  return settings;
}

/** The locks of core behind those of redlock's APIs. */
export const heldLocks: WeakMap<object, Lock> = new WeakMap();

/**
 * Returns the lock of core behind one of redlock's API.
 *
 * @throws {TypeError} if there is none, as for a lock that was made from the value of another
 */
export function heldBy(lock: object): Lock {
  const held = heldLocks.get(lock);
  if (held === undefined)
    throw new TypeError("lock must be one that this process has acquired: its value is not enough");
  return held;
}

/**
 * Releases a lock. Its `expiration` is 0 from then on.
 *
 * @throws {LockLostError} if it was lost before
 */
export async function releaseHeld(lock: { expiration: number }): Promise<void> {
  const held = heldBy(lock);
  lock.expiration = 0;
  await held.release();
  held.signal.throwIfAborted();
}

/**
 * Extends a lock.
 *
 * @throws {RangeError} if it would end earlier than now: redlock shortens locks, core does not
 */
export async function extendHeld(held: Lock, ttlMs: number, { driftFactor }: RetrySettings): Promise<void> {
  const validityMs = ttlMs * (1 - driftFactor) - 2;
  const leftMs = held.remainingMs();
  if (leftMs - validityMs > 1) {
    throw new RangeError(`${ttlMs} ms would shorten the lock, which lasts for another ${Math.floor(leftMs)} ms`);
  }
  await held.extend({ ttlMs });
}

/** Returns until when a lock may be relied on, in milliseconds since the Unix epoch. */
export function expirationOf(lock: Lock): number {
  return Date.now() + Math.floor(lock.remainingMs());
}
