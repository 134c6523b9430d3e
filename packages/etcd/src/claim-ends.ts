import { timerMaxMs } from "@holdfast/core/node";
import type { EtcdClient } from "./etcd-client.ts";
import { claimKey, type Keys } from "./keys.ts";
import type { Lease } from "./leases.ts";
import { txn } from "./messages.ts";
import { type ClaimState, deleteUnchanged, type OwnState, read, statesIn } from "./transactions.ts";

/** A claim as this client wrote it. */
export interface OwnClaim extends OwnState {
  readonly lease: Lease;
  /** When it ends, on the clock of `performance.now()`. */
  readonly endMs: number;
}

/** Claims of which this client knows only that it has requested them. */
export interface SuspectedClaims {
  readonly keys: readonly Keys[];
  readonly owner: string;
  readonly lease: Lease;
  readonly endMs: number;
}

/** How long after its release the client searches for a claim whose request had no reply. */
const afterReleaseMs = 1_000;

/** How long a deletion may take. After that, the lease ends the claim. */
const deletionTimeoutMs = 5_000;

/** The leases alone end what is suspected beyond this number. */
const suspectsMax = 1_000;

/**
 * The ends of the claims that this client has made. It deletes each claim at the end of its ttl, because the lease lasts
 * somewhat longer. If that fails, or the process ends, the lease ends the claim.
 *
 * Each deletion names the revision that it deletes: however late it arrives, it has no effect on a claim that has been
 * extended, or made again.
 */
export class ClaimEnds {
  readonly #client: EtcdClient;
  readonly #batchMax: number;
  /** By key. */
  readonly #claims = new Map<string, { readonly claim: OwnClaim; readonly timer: Timer }>();
  /** By owner. */
  readonly #suspects = new Map<string, { readonly claims: SuspectedClaims; readonly timer: Timer }>();
  #due: OwnClaim[] = [];
  #dueSuspects: SuspectedClaims[] = [];
  #isDeleting = false;
  #isClosed = false;

  /**
   * @param client the client of the cluster
   * @param batchMax how many claims one transaction can delete
   */
  constructor(client: EtcdClient, batchMax: number) {
    this.#client = client;
    this.#batchMax = batchMax;
  }

  /** Adds a claim, or replaces the one with the same key. */
  set(claim: OwnClaim): void {
    if (this.#isClosed) return;
    const { owner, revision, isShared } = claim.claim;
    const key = mapKey(claim.keys, owner, isShared);
    const before = this.#claims.get(key);
    // Replies may arrive in another order than that in which the server made the claims.
    const isOutdated = before && before.claim.claim.revision > revision && before.claim.claim.owner !== owner;
    if (isOutdated) return;
    before?.timer.cancel();
    const onEnd = (): void => {
      this.#claims.delete(key);
      this.#due.push(claim);
      this.#deleteSoon();
    };
    this.#claims.set(key, { claim, timer: startTimer(claim.endMs, onEnd) });
  }

  /** Returns the claim of the owner on a resource, unless it is unknown. */
  get(keys: Keys, owner: string): OwnClaim | undefined {
    const exclusive = this.#claims.get(mapKey(keys, owner, false))?.claim;
    if (exclusive?.claim.owner === owner) return exclusive;
    return this.#claims.get(mapKey(keys, owner, true))?.claim;
  }

  /** Adds claims that the server may have made, or may still make. */
  suspect(claims: SuspectedClaims): void {
    const { owner, endMs } = claims;
    this.trust(owner);
    if (this.#isClosed || this.#suspects.size >= suspectsMax) return;
    const onEnd = (): void => {
      this.#dueSuspects.push(claims);
      this.#deleteSoon();
    };
    this.#suspects.set(owner, { claims, timer: startTimer(endMs, onEnd) });
  }

  /** Ends the suspicion of the claims of an owner: it makes another request. */
  trust(owner: string): void {
    this.#suspects.get(owner)?.timer.cancel();
    this.#suspects.delete(owner);
  }

  /** Removes the claims of an owner that has released them. */
  released(keys: readonly Keys[], owner: string): void {
    for (const each of keys) {
      const claim = this.get(each, owner)?.claim;
      if (claim === undefined) continue;
      const key = mapKey(each, owner, claim.isShared);
      this.#claims.get(key)?.timer.cancel();
      this.#claims.delete(key);
    }
    const suspected = this.#suspects.get(owner)?.claims;
    if (suspected) this.suspect({ ...suspected, endMs: Math.min(suspected.endMs, performance.now() + afterReleaseMs) });
  }

  /** Forgets all claims: from now on only their leases end them. */
  close(): void {
    this.#isClosed = true;
    for (const { timer } of [...this.#claims.values(), ...this.#suspects.values()]) timer.cancel();
    this.#claims.clear();
    this.#suspects.clear();
    this.#due = [];
    this.#dueSuspects = [];
  }

  /** Deletes what has ended, together with what ends at the same time. */
  #deleteSoon(): void {
    if (this.#isDeleting) return;
    this.#isDeleting = true;
    setImmediate(() => {
      void this.#deleteDue().finally(() => {
        this.#isDeleting = false;
      });
    });
  }

  /** One transaction at a time, so that nothing piles up while the server is down. */
  async #deleteDue(): Promise<void> {
    try {
      while (this.#due.length > 0 || this.#dueSuspects.length > 0) {
        const [suspected] = this.#dueSuspects;
        if (suspected) this.#due.push(...(await this.#find(suspected)));
        this.#dueSuspects.shift();
        const batch = this.#due.splice(0, this.#batchMax);
        if (batch.length > 0) await this.#client.call(txn, deleteUnchanged(batch), deadline());
      }
    } catch {
      // The leases end them.
      this.#due = [];
      for (const { owner } of this.#dueSuspects.splice(0)) this.#suspects.delete(owner);
    }
  }

  /** Returns those of the suspected claims that exist, and that nobody has extended. */
  async #find(suspected: SuspectedClaims): Promise<OwnClaim[]> {
    const { keys, owner, lease, endMs } = suspected;
    const isSuspected = () => this.#suspects.get(owner)?.claims === suspected;
    if (!isSuspected()) return [];
    const reply = await this.#client.call(txn, read(keys), deadline());
    if (!isSuspected()) return [];
    this.#suspects.delete(owner);
    const isUnchanged = (claim: ClaimState): boolean =>
      claim.owner === owner && claim.lease === lease.id && claim.version === 1;
    return statesIn(reply, keys).flatMap(({ claims, counter }, index) => {
      return claims.filter(isUnchanged).map((claim) => ({ keys: keys[index] as Keys, claim, counter, lease, endMs }));
    });
  }
}

function mapKey(keys: Keys, owner: string, isShared: boolean): string {
  return claimKey(keys, owner, isShared).toString("latin1");
}

interface Timer {
  cancel(): void;
}

/** Calls `onEnd` at a moment on the clock of `performance.now()`. Lets the process end before. */
function startTimer(endMs: number, onEnd: () => void): Timer {
  let timeout: NodeJS.Timeout;
  const arm = (): void => {
    const restMs = Math.max(0, Math.ceil(endMs - performance.now()));
    timeout = setTimeout(onTimeout, Math.min(timerMaxMs, restMs)).unref();
  };
  const onTimeout = (): void => {
    if (performance.now() < endMs) arm();
    else onEnd();
  };
  arm();
  return { cancel: () => clearTimeout(timeout) };
}

function deadline(): number {
  return performance.now() + deletionTimeoutMs;
}
