import type { EtcdClient } from "./etcd-client.ts";
import { EtcdError } from "./failures.ts";
import { type Int64, leaseGrant, leaseRevoke, leaseTimeToLive } from "./messages.ts";

/*
 * Claims share leases, because a lease costs as much as a claim. A lease is never renewed, so that whatever is attached
 * to it ends, even a claim that this process does not know of. It lasts somewhat longer than the claims for which it was
 * made, and takes further claims until its remaining time is too short for them.
 */

/** A lease of this client. */
export interface Lease {
  readonly id: Int64;
  /** The server's count starts after this moment. */
  readonly requested: Moment;
  readonly ttlMs: number;
}

/** A moment on both clocks: the monotonic one may stand still while the machine sleeps, the wall clock may be set back. */
interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** How much longer a new lease lasts than the first claim on it. */
const spareMs = { share: 0.25, least: 1_000, most: 60_000 };

/**
 * How late the server may process a claim that then still lasts for its whole ttl from that moment. Of a later one, the
 * client counts the ttl from before its request anyway.
 */
const lateMs = 1_000;

/** The rates of two clocks may differ by so much. */
const clockRateError = 0.01;

/** The leases of one client. */
export interface Leases {
  /**
   * Returns a lease for a claim that is made now: it lasts for `ttlMs` from the moment when the server gets the claim.
   *
   * @throws {EtcdError} if the server did not grant one in time
   */
  lasting(ttlMs: number, deadlineMs: number): Promise<Lease>;
  /** Whether a lease lasts for `ttlMs` from the moment when the server gets a request that is sent now. */
  lasts(lease: Lease, ttlMs: number): boolean;
  /** Returns the lease of this client with this id, unless it has ended. */
  get(id: Int64): Lease | undefined;
  /** Forgets a lease that has ended early. */
  forget(lease: Lease): void;
  /** Revokes the leases that no claim uses. The others end by themselves. Gives up at the deadline. */
  revokeUnused(deadlineMs: number): Promise<void>;
}

/** Creates an empty collection of leases. */
export function createLeases(client: EtcdClient): Leases {
  const leases = new Map<Int64, Lease>();
  const requests = new Map<number, Promise<Lease>>();

  const request = async (seconds: number, deadlineMs: number): Promise<Lease> => {
    const requested = now();
    const { ID: id, TTL } = await client.call(leaseGrant, { TTL: seconds, ID: randomId() }, deadlineMs);
    // The server may grant more than was requested, never less.
    const lease: Lease = { id, requested, ttlMs: TTL * 1_000 };
    leases.set(id, lease);
    return lease;
  };

  /** Requests a lease, once for all callers that need the same at the same time. */
  const requestOnce = (seconds: number, deadlineMs: number): Promise<Lease> => {
    const pending = requests.get(seconds) ?? request(seconds, deadlineMs).finally(() => requests.delete(seconds));
    requests.set(seconds, pending);
    return pending;
  };

  const lasting: Leases["lasting"] = async (ttlMs, deadlineMs) => {
    const mostMs = 1.5 * ttlMs + 4 * spareMs.least;
    let best: Lease | undefined;
    for (const lease of leases.values()) {
      const restMs = remainingMs(lease);
      if (restMs <= 0) leases.delete(lease.id);
      else if (restMs <= mostMs && lasts(lease, ttlMs)) best ??= lease;
    }
    if (best !== undefined) return best;
    const spare = Math.min(spareMs.most, Math.max(spareMs.least, ttlMs * spareMs.share));
    const seconds = Math.ceil(((ttlMs + lateMs) * (1 + 2 * clockRateError) + spare) / 1_000);
    for (;;) {
      const isShared = requests.has(seconds);
      try {
        const lease = await requestOnce(seconds, deadlineMs);
        // One that took long to arrive may already be too short.
        if (!isShared || lasts(lease, ttlMs)) return lease;
      } catch (error) {
        if (error instanceof EtcdError && /lease already exists/.test(error.message)) continue;
        if (!isShared || !(error instanceof EtcdError) || error.remedy !== "more time") throw error;
      }
    }
  };

  return {
    lasting,
    lasts,
    get(id) {
      const lease = leases.get(id);
      return lease !== undefined && remainingMs(lease) > 0 ? lease : undefined;
    },
    forget: ({ id }) => void leases.delete(id),
    async revokeUnused(deadlineMs) {
      const unused = [...leases.values()].filter((lease) => remainingMs(lease) > 0);
      leases.clear();
      await Promise.all(
        unused.map(async ({ id }) => {
          const { TTL, keys } = await client.call(leaseTimeToLive, { ID: id, keys: true }, deadlineMs);
          if (TTL > 0 && keys.length === 0) await client.call(leaseRevoke, { ID: id }, deadlineMs);
        }),
      );
    },
  };
}

function lasts(lease: Lease, ttlMs: number): boolean {
  return remainingMs(lease) >= ttlMs + lateMs;
}

/** How long the lease will last at least. */
function remainingMs({ requested, ttlMs }: Lease): number {
  const { monotonicMs, wallMs } = now();
  const ageMs = Math.max(monotonicMs - requested.monotonicMs, wallMs - requested.wallMs);
  return ttlMs * (1 - clockRateError) - ageMs;
}

/**
 * Returns an id that fits into a number, as the server's own do not. It refuses one that is in use, as when it gets the
 * same request twice.
 */
function randomId(): Int64 {
  const [high = 0, low = 0] = crypto.getRandomValues(new Uint32Array(2));
  return 1 + (high >>> 12) * 2 ** 32 + low;
}

function now(): Moment {
  return { monotonicMs: performance.now(), wallMs: Date.now() };
}
