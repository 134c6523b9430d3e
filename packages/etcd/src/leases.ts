import type { EtcdClient } from "./etcd-client.ts";
import { EtcdError } from "./failures.ts";
import { type Int64, leaseGrant, leaseRevoke, leaseTimeToLive } from "./messages.ts";

/** A lease. */
export interface Lease {
  readonly id: Int64;
  /** At this moment, `ttlMs` or more were left. */
  readonly since: Moment;
  readonly ttlMs: number;
  /** For how long it was requested. The server may have granted more. */
  readonly requestedMs: number;
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

/** How often one call replaces a lease that has ended early. */
const callsMax = 3;

/**
 * The leases of one client. Claims share them, because a lease costs as much as a claim. A lease is never renewed, so
 * that whatever is attached to it ends, even a claim that this process does not know of. It lasts somewhat longer than
 * the claims for which it was made, and takes further claims until its remaining time is too short for them.
 */
export class Leases {
  readonly #client: EtcdClient;
  readonly #leases = new Map<Int64, Lease>();
  /** The leases that take no further claims. */
  readonly #retired = new Set<Int64>();
  /** The requests under way, by their number of seconds. */
  readonly #requests = new Map<number, Promise<Lease>>();
  readonly #calls = new Set<Promise<unknown>>();

  /** @param client the client of the cluster */
  constructor(client: EtcdClient) {
    this.#client = client;
  }

  /**
   * Runs a call that puts claims on leases. Repeats it if one of the leases that it got has ended early.
   *
   * @param call gets a function that returns a lease for a claim that is made now: it lasts for so many milliseconds
   *   from the moment when the server gets the claim
   */
  async use<Reply>(
    deadlineMs: number,
    call: (findLease: (ttlMs: number) => Promise<Lease>) => Promise<Reply>,
  ): Promise<Reply> {
    for (let calls = 1; ; calls++) {
      const used: Lease[] = [];
      const running = call(async (ttlMs) => {
        const lease = await this.#lasting(ttlMs, deadlineMs);
        used.push(lease);
        return lease;
      });
      this.#calls.add(running);
      try {
        return await running;
      } catch (error) {
        if (!(error instanceof EtcdError) || error.remedy !== "new lease" || calls === callsMax) throw error;
        for (const { id } of used) this.#forget(id);
      } finally {
        this.#calls.delete(running);
      }
    }
  }

  /** Returns the lease of this client with this id, unless it has ended. */
  get(id: Int64): Lease | undefined {
    const lease = this.#leases.get(id);
    return lease !== undefined && remainingMs(lease) > 0 ? lease : undefined;
  }

  /** Returns the lease of any client with this id, unless it has ended. */
  async find(id: Int64, deadlineMs: number): Promise<Lease | undefined> {
    const own = this.get(id);
    if (own !== undefined) return own;
    const since = now();
    const { TTL } = await this.#client.call(leaseTimeToLive, { ID: id, keys: false }, deadlineMs);
    const ttlMs = 1_000 * TTL;
    return TTL < 0 ? undefined : { id, since, ttlMs, requestedMs: ttlMs };
  }

  /**
   * Revokes the leases that no claim uses, once the calls are over that may put claims on them. The others end by
   * themselves. Gives up at the deadline.
   */
  async revokeUnused(deadlineMs: number): Promise<void> {
    const leases = [...this.#leases.keys()].filter((id) => this.get(id));
    for (const id of leases) this.#retired.add(id);
    if (!(await settleBefore(deadlineMs, this.#calls))) return;
    await Promise.all(
      leases.map(async (id) => {
        const { TTL, keys } = await this.#client.call(leaseTimeToLive, { ID: id, keys: true }, deadlineMs);
        if (TTL > 0 && keys.length === 0) await this.#client.call(leaseRevoke, { ID: id }, deadlineMs);
      }),
    );
  }

  async #lasting(ttlMs: number, deadlineMs: number): Promise<Lease> {
    const shared = this.#shared(ttlMs);
    if (shared !== undefined) return shared;
    const spare = Math.min(spareMs.most, Math.max(spareMs.least, ttlMs * spareMs.share));
    const seconds = Math.ceil(((ttlMs + lateMs) * (1 + 2 * clockRateError) + spare) / 1_000);
    for (;;) {
      const isShared = this.#requests.has(seconds);
      try {
        const lease = await this.#requestOnce(seconds, deadlineMs);
        // One that took long to arrive may already be too short.
        if (!isShared || lasts(lease, ttlMs)) return lease;
      } catch (error) {
        if (error instanceof EtcdError && /lease already exists/.test(error.message)) continue;
        if (!isShared || !(error instanceof EtcdError) || error.remedy !== "more time") throw error;
      }
    }
  }

  /** Returns a lease that fits and exists, if there is one. */
  #shared(ttlMs: number): Lease | undefined {
    const mostMs = 1.5 * ttlMs + 4 * spareMs.least;
    let best: Lease | undefined;
    for (const lease of this.#leases.values()) {
      const restMs = remainingMs(lease);
      if (restMs <= 0) this.#forget(lease.id);
      else if (this.#retired.has(lease.id)) continue;
      else if (Math.min(restMs, lease.requestedMs) <= mostMs && lasts(lease, ttlMs)) best ??= lease;
    }
    return best;
  }

  #forget(id: Int64): void {
    this.#leases.delete(id);
    this.#retired.delete(id);
  }

  /** Requests a lease, once for all callers that need the same at the same time. */
  #requestOnce(seconds: number, deadlineMs: number): Promise<Lease> {
    const pending =
      this.#requests.get(seconds) ?? this.#request(seconds, deadlineMs).finally(() => this.#requests.delete(seconds));
    this.#requests.set(seconds, pending);
    return pending;
  }

  async #request(seconds: number, deadlineMs: number): Promise<Lease> {
    const since = now();
    const { ID: id, TTL } = await this.#client.call(leaseGrant, { TTL: seconds, ID: randomId() }, deadlineMs);
    const lease: Lease = { id, since, ttlMs: 1_000 * TTL, requestedMs: 1_000 * seconds };
    this.#leases.set(id, lease);
    return lease;
  }
}

/** Whether a lease lasts for `ttlMs` from the moment when the server gets a request that is sent now. */
export function lasts(lease: Lease, ttlMs: number): boolean {
  return remainingMs(lease) >= ttlMs + lateMs;
}

/** How long the lease will last at least, in milliseconds. */
export function remainingMs({ since, ttlMs }: Lease): number {
  const { monotonicMs, wallMs } = now();
  const ageMs = Math.max(monotonicMs - since.monotonicMs, wallMs - since.wallMs);
  return ttlMs * (1 - clockRateError) - ageMs;
}

/** Whether all of these have settled before the deadline. */
async function settleBefore(deadlineMs: number, promises: Iterable<Promise<unknown>>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, Math.max(1, deadlineMs - performance.now()), false);
  });
  const settled = Promise.allSettled(promises).then(() => true);
  return Promise.race([settled, late]).finally(() => clearTimeout(timer));
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
