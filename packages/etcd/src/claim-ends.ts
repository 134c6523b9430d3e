import type { Keys } from "./keys.ts";
import type { Lease } from "./leases.ts";
import type { Int64, TxnRequest } from "./messages.ts";
import { deleteOwned, deleteUnchanged } from "./transactions.ts";

/**
 * The claims that this client has made. It deletes each at the end of its ttl, because the lease lasts somewhat longer.
 * If that fails, or the process ends, the lease ends the claim.
 */
export interface ClaimEnds {
  /** Adds a claim, or replaces the one on the same resource. */
  set(resource: string, claim: OwnClaim): void;
  /** Returns the claim of the owner on a resource, unless it is unknown. */
  get(resource: string, owner: string): OwnClaim | undefined;
  /** Adds claims that the server may have made, or may still make. */
  suspect(resources: readonly string[], claim: SuspectedClaim): void;
  /** Removes the claims of an owner that has released them. */
  released(resources: readonly string[], owner: string): void;
  /** Forgets all claims: from now on only their leases end them. */
  close(): void;
}

/** A claim as this client wrote it. */
export interface OwnClaim {
  readonly keys: Keys;
  readonly owner: string;
  /** The revisions of both keys, and the counter. */
  readonly claimRevision: Int64;
  readonly counterRevision: Int64;
  readonly fence: number;
  readonly lease: Lease;
  /** When it ends, on the clock of `performance.now()`. */
  readonly endMs: number;
}

/** A claim of which this client knows only that it was requested. */
type SuspectedClaim = Pick<OwnClaim, "owner" | "endMs">;

interface Entry {
  readonly keys: Keys;
  readonly owner: string;
  /** Undefined if the claim is only suspected. */
  readonly claim: OwnClaim | undefined;
  readonly endMs: number;
  timer: NodeJS.Timeout | undefined;
}

const longestTimerMs = 2 ** 31 - 1;

/** A claim that was released before the server replied to its request is deleted again so much later. */
const againMs = 1_000;

/**
 * Creates an empty collection.
 *
 * @param keysOf returns the keys of a resource
 * @param send sends a transaction, once, and ignores its failure
 * @param batchMax how many claims one transaction can delete
 */
export function createClaimEnds(
  keysOf: (resource: string) => Keys,
  send: (request: TxnRequest) => void,
  batchMax: number,
): ClaimEnds {
  const entries = new Map<string, Entry>();
  let due: Entry[] = [];
  let isClosed = false;

  const flush = (): void => {
    const [known, suspected] = [due.filter(({ claim }) => claim), due.filter(({ claim }) => !claim)];
    due = [];
    const claims = known.map(({ keys, claim }) => ({ key: keys.claim, revision: claim?.claimRevision ?? 0 }));
    for (let first = 0; first < claims.length; first += batchMax) {
      send(deleteUnchanged(claims.slice(first, first + batchMax)));
    }
    for (const { keys, owner } of suspected) send(deleteOwned([keys], owner));
  };
  const onTimer = (resource: string, entry: Entry): void => {
    if (performance.now() < entry.endMs) {
      arm(resource, entry);
      return;
    }
    entries.delete(resource);
    // What ends at the same time is deleted together.
    if (due.length === 0) setImmediate(flush);
    due.push(entry);
  };
  const arm = (resource: string, entry: Entry): void => {
    const delayMs = Math.min(longestTimerMs, Math.ceil(entry.endMs - performance.now()));
    // The lease ends the claims of a process that has ended.
    entry.timer = setTimeout(onTimer, delayMs, resource, entry).unref();
  };
  const put = (resource: string, entry: Entry): void => {
    clearTimeout(entries.get(resource)?.timer);
    if (isClosed) return;
    entries.set(resource, entry);
    arm(resource, entry);
  };

  return {
    set: (resource, claim) => put(resource, { ...claim, claim, timer: undefined }),
    get(resource, owner) {
      const claim = entries.get(resource)?.claim;
      return claim?.owner === owner ? claim : undefined;
    },
    suspect(resources, { owner, endMs }) {
      for (const resource of resources) {
        const isOther = entries.get(resource)?.claim !== undefined;
        if (!isOther) put(resource, { keys: keysOf(resource), owner, claim: undefined, endMs, timer: undefined });
      }
    },
    released(resources, owner) {
      for (const resource of resources) {
        const entry = entries.get(resource);
        if (entry?.owner !== owner) continue;
        if (entry.claim === undefined) {
          put(resource, { ...entry, endMs: Math.min(entry.endMs, performance.now() + againMs) });
          continue;
        }
        clearTimeout(entry.timer);
        entries.delete(resource);
      }
    },
    close() {
      isClosed = true;
      for (const { timer } of entries.values()) clearTimeout(timer);
      entries.clear();
      due = [];
    },
  };
}
