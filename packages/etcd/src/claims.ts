import { ConfigurationError, EpochError } from "@holdfast/core";
import {
  type AcquireReply,
  type AcquireRequest,
  assertAcquire,
  assertExtend,
  assertFloor,
  assertRelease,
  type Denial,
  type ExtendReply,
  type ExtendRequest,
  type Floor,
  type FloorRequest,
  type NodeRequest,
  type NodeView,
  type ReleaseReply,
  type ReleaseRequest,
  type ScanPortion,
  type ScanRequest,
  type ServerIdentity,
  type Sharer,
} from "@holdfast/core/node";
import { ClaimEnds } from "./claim-ends.ts";
import type { EtcdClient } from "./etcd-client.ts";
import { EtcdError } from "./failures.ts";
import {
  claimRange,
  counterRange,
  decodeFence,
  decodeText,
  encodeText,
  floorKey,
  identityKey,
  type KeyRange,
  type Keys,
  keysOf,
  resourceOf,
} from "./keys.ts";
import { type Lease, Leases, lasts, remainingMs } from "./leases.ts";
import { type KeyValue, leaseTimeToLive, type TxnRequest, type TxnResponse, txn } from "./messages.ts";
import {
  type ClaimState,
  type CounterState,
  claimFree,
  claimIn,
  claimUnchanged,
  deleteOwned,
  deleteUnclaimed,
  deletionsIn,
  entriesIn,
  extendUnchanged,
  type FloorGuard,
  type FloorState,
  floorIn,
  type Grant,
  type ResourceState,
  raiseUnchanged,
  read,
  readKeys,
  statesIn,
  writeOnce,
} from "./transactions.ts";

const dayMs = 24 * 60 * 60 * 1_000;

/** How many keys `list` and `scan` read at a time. */
const pageSize = 1_000;

/** How many claims `scan` reads at a time: each may be on a lease of its own, and takes another request then. */
const claimsPageSize = 200;

/** How many counters `deleteUnused` deletes at the same time. */
const deletionsAtOnce = 64;

/** How long `inspect` and `list` wait for each reply, and `close` for the leases. */
const inspectTimeoutMs = 5_000;
const closeTimeoutMs = 1_000;

/** On which lease a claim is, and how long it lasts from the reply on, in milliseconds. */
interface Term {
  readonly lease: Lease;
  readonly lastsMs: number;
}

/** What a grant replaces and writes, and the floor that it relies on, if any. */
type GrantTerms = Pick<Grant, "replaced" | "joins"> & { readonly fence: number; readonly guard?: FloorGuard };

/** Returns a lease for a claim that lasts so many milliseconds from now. */
type FindLease = (ttlMs: number) => Promise<Lease>;

/** The claims in an etcd cluster. */
export class Claims {
  readonly #client: EtcdClient;
  readonly #prefix: string;
  readonly #floorKey: Buffer;
  /** The floor as this client has seen it last: transactions that rely on it compare it. */
  #floor: FloorState = { floor: 0, epoch: 0 };
  readonly #txnOpsMax: number;
  readonly #resourcesMax: number;
  readonly #leases: Leases;
  readonly #ends: ClaimEnds;

  /**
   * @param client the client of the cluster
   * @param prefix what the names of all keys start with
   * @param txnOpsMax how many operations, or comparisons, one transaction can have
   */
  constructor(client: EtcdClient, prefix: string, txnOpsMax: number) {
    this.#client = client;
    this.#prefix = prefix;
    this.#floorKey = floorKey(prefix);
    this.#txnOpsMax = txnOpsMax;
    this.#resourcesMax = Math.floor((txnOpsMax - 1) / 2); // one is for the floor
    this.#leases = new Leases(client);
    this.#ends = new ClaimEnds(client, this.#resourcesMax);
  }

  /** Returns the keys of a resource. */
  keysOf(resource: string): Keys {
    return keysOf(this.#prefix, resource);
  }

  /** See `LockNode.acquire`. */
  async acquire(request: AcquireRequest): Promise<AcquireReply> {
    assertAcquire(request);
    this.#ends.trust(request.owner);
    return this.#withLeases(request, async (findLease, deadlineMs) => {
      const lease = await findLease(request.ttlMs);
      return this.#suspectIfUnknown(request, lease, () => this.#claim(request, lease, deadlineMs));
    });
  }

  async #claim(request: AcquireRequest, lease: Lease, deadlineMs: number): Promise<AcquireReply> {
    const { resources, owner, ttlMs, takeover, shared: isShared = false, epoch = 1 } = request;
    const keys = resources.map((resource) => this.keysOf(resource));
    const uniform = resources.length > 1 && { uniform: true };
    const hint = Math.max(1, Math.min(request.fenceHint, 1_000 * (Date.now() + dayMs)));
    const terms = resources.map((): Term => ({ lease, lastsMs: ttlMs }));
    let seen = this.#floor;
    const likely = Math.max(1 + seen.floor, hint);
    const isLikely = serves(seen, epoch) && Number.isSafeInteger(likely);
    const change = { owner, isShared, lease: lease.id, fence: likely };
    const claimOrRead = isLikely ? claimFree(keys, change, this.#guard(seen)) : read(keys, this.#floorKey);
    let reply = await this.#send(claimOrRead, deadlineMs);
    if (isLikely && reply.succeeded) {
      const { revision } = reply.header;
      const claim = { owner, isShared, revision, version: 1, lease: lease.id };
      for (const each of keys) this.#remember(each, claim, { fence: likely, revision }, { lease, lastsMs: ttlMs });
      return { granted: true, fence: likely, ...uniform };
    }
    // Each round fails only because another client has changed something, and at the latest at the deadline.
    for (;;) {
      const states = statesIn(reply, keys);
      seen = this.#learnFloor(reply);
      if (!serves(seen, epoch)) throw new EpochError(seen.epoch, epoch);
      const owned = states.map(({ claims }) => claims.find((claim) => claim.owner === owner));
      if (owned.every((claim) => claim !== undefined && (isShared || !claim.isShared))) {
        this.#rememberLost(request, states);
        return { granted: true, fence: highestFence(states) };
      }
      const denial = denialOf(request, states);
      if (denial !== undefined) return denial;
      const highest = Math.max(seen.floor, highestFence(states));
      const joins = joinsAll(request, states, takeover);
      const fence = assertFence(joins ? highest : Math.max(1 + highest, hint), resources);
      const grant = { replaced: takeover, joins, fence, guard: this.#guard(seen) };
      const changed = await this.#grant(request, states, terms, grant, deadlineMs);
      if (changed === undefined) return { granted: true, fence, ...uniform };
      if (changed === "too large") return { granted: false };
      reply = changed;
    }
  }

  /** See `LockNode.extend`. */
  async extend(request: ExtendRequest): Promise<ExtendReply> {
    assertExtend(request);
    const { resources, owner, rejoin, shared = false } = request;
    this.#ends.trust(owner);
    return this.#withLeases(request, async (findLease, deadlineMs) => {
      let states = this.#knownStates(request) ?? (await this.#read(resources, deadlineMs));
      for (;;) {
        const isHeld = states.every(({ claims }) => claims.some((claim) => claim.owner === owner));
        const isBlocking = (claim: ClaimState) => claim.owner !== owner && !(shared && claim.isShared);
        if (!isHeld) {
          const holder = states.flatMap(({ claims }) => claims).find(isBlocking)?.owner;
          if (holder !== undefined) return { held: false, rejoined: false, holder };
          if (!rejoin) return { held: false, rejoined: false };
        }
        const extension = isHeld ? this.#extendHeld : this.#rejoin;
        const reply = await extension.call(this, request, states, findLease, deadlineMs);
        if (!("changed" in reply)) return reply;
        states = reply.changed;
      }
    });
  }

  /** Extends claims that are all held, unless they have changed: then returns what they are now. */
  async #extendHeld(
    request: ExtendRequest,
    states: readonly ResourceState[],
    findLease: FindLease,
    deadlineMs: number,
  ): Promise<ExtendReply | { readonly changed: ResourceState[] }> {
    const terms: Term[] = [];
    for (const [index, resource] of request.resources.entries()) {
      terms.push(await this.#termOf(resource, request, ownIn(states[index], request.owner), findLease, deadlineMs));
    }
    // The claim is always written, even to the same lease: its new revision keeps it from being deleted at its old end.
    const keys = request.resources.map((resource) => this.keysOf(resource));
    const changes = states.map((seen, index) => {
      const { owner, isShared } = ownIn(seen, request.owner);
      const { lease } = terms[index] as Term;
      const fence = seen.counter.fence < request.fence ? request.fence : undefined;
      return { keys: keys[index] as Keys, seen, owner, isShared, lease: lease.id, fence };
    });
    const reply = await this.#send(extendUnchanged(changes), deadlineMs);
    if (!reply.succeeded) return { changed: statesIn(reply, keys) };
    const { revision } = reply.header;
    for (const [index, { keys, seen, owner, fence }] of changes.entries()) {
      const term = terms[index] as Term;
      const before = ownIn(seen, owner);
      const claim = { ...before, revision, version: before.version + 1, lease: term.lease.id };
      this.#remember(keys, claim, fence === undefined ? seen.counter : { fence, revision }, term);
    }
    return { held: true, fence: Math.max(request.fence, highestFence(states)) };
  }

  /** Claims free resources again, unless they have changed: then returns what they are now. */
  async #rejoin(
    request: ExtendRequest,
    states: readonly ResourceState[],
    findLease: FindLease,
    deadlineMs: number,
  ): Promise<ExtendReply | { readonly changed: ResourceState[] }> {
    const { resources, owner, ttlMs } = request;
    const joins = joinsAll(request, states, owner);
    const fence = assertFence(Math.max((joins ? 0 : 1) + highestFence(states), request.fence), resources);
    const lease = await findLease(ttlMs);
    const terms = resources.map((): Term => ({ lease, lastsMs: ttlMs }));
    const grant = { replaced: owner, joins, fence };
    const change = () => this.#grant(request, states, terms, grant, deadlineMs);
    const changed = await this.#suspectIfUnknown(request, lease, change);
    if (changed === "too large") return { held: false, rejoined: false };
    if (changed === undefined) return { held: false, rejoined: true };
    const keys = resources.map((resource) => this.keysOf(resource));
    return { changed: statesIn(changed, keys) };
  }

  /**
   * Returns the next term of a held claim. It stays on its lease if that lasts for another ttl: a new lease for what is
   * left of the old one would last longer each time.
   */
  async #termOf(
    resource: string,
    { owner, ttlMs }: ExtendRequest,
    claim: ClaimState,
    findLease: FindLease,
    deadlineMs: number,
  ): Promise<Term> {
    const own = this.#ends.get(this.keysOf(resource), owner);
    const isOwn = own?.claim.revision === claim.revision;
    const lease = isOwn ? own.lease : await this.#leases.find(claim.lease, deadlineMs);
    // Only the lease says how long a claim may last that another client has made.
    const restMs = isOwn ? own.endMs - performance.now() : lease ? remainingMs(lease) + 1_000 : 0;
    const lastsMs = Math.max(ttlMs, Math.ceil(restMs));
    return { lease: lease && lasts(lease, ttlMs) ? lease : await findLease(lastsMs), lastsMs };
  }

  /** See `LockNode.release`. */
  async release(request: ReleaseRequest): Promise<ReleaseReply> {
    assertRelease(request);
    const { resources, owner } = request;
    return this.#withDeadline(request, async (deadlineMs) => {
      const keys = resources.map((resource) => this.keysOf(resource));
      const known = keys.map((each) => this.#ends.get(each, owner));
      const reply = await this.#send(deleteOwned(keys, owner, known), deadlineMs);
      this.#ends.released(keys, owner);
      return { released: deletionsIn(reply) > 0 };
    });
  }

  /** Returns what identifies the cluster, through whichever members. */
  async identify({ timeoutMs }: NodeRequest): Promise<ServerIdentity> {
    const fresh = encodeText(crypto.randomUUID());
    const request = writeOnce(identityKey(this.#prefix), fresh);
    const reply = await this.#withDeadline({ resources: [], timeoutMs }, (deadlineMs) =>
      this.#send(request, deadlineMs),
    );
    const [entry] = entriesIn(reply);
    // A copy of the data has the same text in another cluster.
    const id = `id ${decodeText(entry?.value ?? fresh)} in cluster ${reply.header.clusterId.toString(16)}`;
    return { id, isReplica: false };
  }

  /** See `LockNode.inspect`. */
  async inspect(resource: string): Promise<NodeView> {
    return this.#withDeadline({ resources: [resource], timeoutMs: inspectTimeoutMs }, async (deadlineMs) => {
      const keys = this.keysOf(resource);
      for (;;) {
        const reply = await this.#send(read([keys], this.#floorKey), deadlineMs);
        const [{ claims, counter }] = statesIn(reply, [keys]) as [ResourceState];
        const { floor } = this.#learnFloor(reply);
        const counters = { fence: counter.fence, ...(floor > 0 && { floor }) };
        if (claims.length === 0) return { owner: null, remainingMs: null, ...counters };
        const found = claims.map((claim) => ({ keys, claim }));
        const leftMs = await this.#remainingMs(found, deadlineMs);
        if (leftMs === undefined) continue; // a claim has changed meanwhile
        const sharers = claims
          .map(({ owner }, index) => ({ owner, remainingMs: leftMs[index] as number }))
          .sort((a, b) => b.remainingMs - a.remainingMs);
        return { ...(sharers[0] as Sharer), ...(claims[0]?.isShared && { sharers }), ...counters };
      }
    });
  }

  /** Returns how long each claim will last, in milliseconds; undefined if one has changed. */
  async #remainingMs(
    found: readonly { readonly keys: Keys; readonly claim: ClaimState }[],
    deadlineMs: number,
  ): Promise<readonly number[] | undefined> {
    const leftMs = new Map<number, Promise<number>>();
    const leftOf = (lease: number): Promise<number> => {
      const asked =
        leftMs.get(lease) ??
        this.#client.call(leaseTimeToLive, { ID: lease, keys: false }, deadlineMs).then(({ TTL }) => 1_000 * TTL);
      leftMs.set(lease, asked);
      return asked;
    };
    const remainingMs = await Promise.all(
      found.map(async ({ keys, claim: { owner, revision, lease } }) => {
        const own = this.#ends.get(keys, owner);
        if (own?.claim.revision === revision) return Math.max(0, own.endMs - performance.now());
        return lease === 0 ? Infinity : await leftOf(lease); // another program has written a key without a lease
      }),
    );
    return remainingMs.some((ms) => ms < 0) ? undefined : remainingMs;
  }

  /** See `LockNode.raiseFloor`. */
  async raiseFloor(request: FloorRequest): Promise<Floor> {
    assertFloor(request);
    return this.#withDeadline({ resources: [], timeoutMs: request.timeoutMs }, async (deadlineMs) => {
      let reply = await this.#send(read([], this.#floorKey), deadlineMs);
      for (;;) {
        const seen = this.#learnFloor(reply);
        const raised = { floor: Math.max(seen.floor, request.floor), epoch: Math.max(seen.epoch, request.epoch) };
        if (raised.floor === seen.floor && raised.epoch === seen.epoch) return raised;
        reply = await this.#send(raiseUnchanged(this.#guard(seen), raised), deadlineMs);
        if (reply.succeeded) return raised;
      }
    });
  }

  /** See `LockNode.scan`. Reads the claims, and then the counters. A cursor is the first key of the next portion. */
  async scan({ cursor, timeoutMs }: ScanRequest): Promise<ScanPortion> {
    const [claims, counters] = [claimRange(this.#prefix), counterRange(this.#prefix)];
    const from = cursor === undefined ? claims.start : Buffer.from(cursor, "base64url");
    const isIn = ({ start, end }: KeyRange): boolean => from.compare(start) >= 0 && from.compare(end) < 0;
    if (!isIn(claims) && !isIn(counters)) throw new RangeError("no scan of this node has this cursor");
    return this.#withDeadline({ resources: [], timeoutMs }, async (deadlineMs) => {
      if (isIn(counters)) {
        const { entries, next } = await this.#readPage(from, counters.end, pageSize, deadlineMs);
        const fences = entries.map(({ value }) => decodeFence(value));
        const highest = Math.max(0, ...fences);
        return { counters: fences.length, highest, claims: [], ...(next && { cursor: next.toString("base64url") }) };
      }
      for (;;) {
        const { entries, next = counters.start } = await this.#readPage(from, claims.end, claimsPageSize, deadlineMs);
        const found = entries.map((entry) => {
          const resource = resourceOf(entry.key, claims.start);
          const keys = this.keysOf(resource);
          return { resource, keys, claim: claimIn(entry, !entry.key.equals(keys.claim)) };
        });
        const leftMs = await this.#remainingMs(found, deadlineMs);
        if (leftMs === undefined) continue; // a claim has changed meanwhile, and may be on another lease now
        const scanned = found.map(({ resource, claim: { owner } }, index) => {
          return { resource, owner, remainingMs: leftMs[index] as number };
        });
        return { counters: 0, highest: 0, claims: scanned, cursor: next.toString("base64url") };
      }
    });
  }

  /** Reads the entries from a key up to `end`, but not more than a page. `next` starts the next page, if any. */
  async #readPage(
    from: Buffer,
    end: Buffer,
    size: number,
    deadlineMs: number,
  ): Promise<{ readonly entries: readonly KeyValue[]; readonly next?: Buffer }> {
    const entries = entriesIn(await this.#send(readKeys(from, end, size), deadlineMs));
    const last = entries.length < size ? undefined : entries.at(-1)?.key;
    return { entries, ...(last && { next: Buffer.concat([last, Buffer.of(0)]) }) };
  }

  /** See `EtcdNode.deleteUnused`. No later token is below the counters that it deletes, whatever clocks say. */
  async deleteUnused(unusedForMs: number): Promise<number> {
    const counters = counterRange(this.#prefix);
    // A token is the client's time in microseconds, or more.
    const before = 1_000 * (Date.now() - unusedForMs);
    let deleted = 0;
    for (let from: Buffer | undefined = counters.start; from !== undefined && deleted === 0; ) {
      const first: Buffer = from;
      const { entries, next } = await this.#inBackground((deadlineMs) =>
        this.#readPage(first, counters.end, pageSize, deadlineMs),
      );
      const old = entries.filter(({ value }) => decodeFence(value) < before);
      const highest = Math.max(0, ...old.map(({ value }) => decodeFence(value)));
      if (highest > 0) await this.raiseFloor({ floor: highest + 1, epoch: 0, timeoutMs: inspectTimeoutMs });
      for (let index = 0; index < old.length; index += deletionsAtOnce) {
        const replies = old.slice(index, index + deletionsAtOnce).map(({ key, modRevision }) => {
          const keys = { ...this.keysOf(resourceOf(key, counters.start)), counter: key };
          return this.#inBackground((deadlineMs) => this.#send(deleteUnclaimed(keys, modRevision), deadlineMs));
        });
        for (const { succeeded } of await Promise.all(replies)) if (succeeded) deleted++;
      }
      from = next;
    }
    return deleted;
  }

  /** Runs a call that belongs to no request. */
  #inBackground<Reply>(call: (deadlineMs: number) => Promise<Reply>): Promise<Reply> {
    return this.#withDeadline({ resources: [], timeoutMs: inspectTimeoutMs }, call);
  }

  /** See `EtcdNode.list`. */
  async *list(): AsyncGenerator<string> {
    const { start, end } = claimRange(this.#prefix);
    let lastName: string | undefined;
    let from: Buffer | undefined = start;
    while (from !== undefined) {
      const first: Buffer = from;
      const page = await this.#inBackground((deadlineMs) => this.#readPage(first, end, pageSize, deadlineMs));
      for (const name of page.entries.map(({ key }) => resourceOf(key, start))) {
        if (name !== lastName) yield name; // the keys of its sharers follow each other
        lastName = name;
      }
      from = page.next;
    }
  }

  /** Leaves claims to their leases from now on, and revokes the leases that no claim uses. */
  async close(): Promise<void> {
    this.#ends.close();
    await this.#leases.revokeUnused(performance.now() + closeTimeoutMs).catch(() => {});
  }

  /** Makes claims if nothing has changed since; otherwise returns the reply, which shows what is there now. */
  async #grant(
    { resources, owner, shared: isShared = false }: AcquireRequest | ExtendRequest,
    states: readonly ResourceState[],
    terms: readonly Term[],
    { replaced, joins, fence, guard }: GrantTerms,
    deadlineMs: number,
  ): Promise<TxnResponse | "too large" | undefined> {
    // A third comparison for each resource replaces the write of the counter, if there is room for it.
    const writesCounters = !joins || 3 * resources.length + 1 > this.#txnOpsMax;
    const keys = resources.map((resource) => this.keysOf(resource));
    const grants = states.map((seen, index): Grant => {
      const { lease } = terms[index] as Term;
      const isWritten = writesCounters || seen.counter.fence !== fence;
      const change = { owner, isShared, lease: lease.id, replaced, joins, fence: isWritten ? fence : undefined };
      return { keys: keys[index] as Keys, seen, ...change };
    });
    const request = claimUnchanged(grants, guard);
    // One that replaces sharers takes more operations than others.
    if (Math.max(request.compare.length, request.success.length) > this.#txnOpsMax) return "too large";
    const reply = await this.#send(request, deadlineMs);
    if (!reply.succeeded) return reply;
    const { revision } = reply.header;
    for (const [index, { keys, seen, lease, fence }] of grants.entries()) {
      const before = seen.claims.find((claim) => claim.isShared === isShared && (!isShared || claim.owner === owner));
      const claim = { owner, isShared, revision, version: (before?.version ?? 0) + 1, lease };
      const counter = fence === undefined ? seen.counter : { fence, revision };
      this.#remember(keys, claim, counter, terms[index] as Term);
    }
    return undefined;
  }

  /** Returns the floor that a transaction has read, and remembers it for the next claim. */
  #learnFloor(reply: TxnResponse): FloorState {
    this.#floor = floorIn(reply);
    return this.#floor;
  }

  #guard(seen: FloorState): FloorGuard {
    return { key: this.#floorKey, seen };
  }

  /** Remembers a claim that a transaction has just written. */
  #remember(keys: Keys, claim: ClaimState, counter: CounterState, { lease, lastsMs }: Term): void {
    this.#ends.set({ keys, claim, counter, lease, endMs: performance.now() + lastsMs });
  }

  /** Remembers claims that an earlier request of this client has made, whose reply was lost. */
  #rememberLost({ resources, owner, ttlMs }: AcquireRequest, states: readonly ResourceState[]): void {
    for (const [index, state] of states.entries()) {
      const keys = this.keysOf(resources[index] as string);
      const claim = ownIn(state, owner);
      const lease = this.#leases.get(claim.lease);
      const isFresh = claim.version === 1 && this.#ends.get(keys, owner) === undefined;
      if (lease && isFresh) this.#remember(keys, claim, state.counter, { lease, lastsMs: ttlMs });
    }
  }

  /** Returns what this client knows of claims that it has made, so that it need not read them. */
  #knownStates({ resources, owner }: ExtendRequest): ResourceState[] | undefined {
    const known = resources.flatMap((resource) => this.#ends.get(this.keysOf(resource), owner) ?? []);
    return known.length === resources.length
      ? known.map(({ claim, counter }) => ({ claims: [claim], counter }))
      : undefined;
  }

  /** Makes sure that claims end which the server may have made, or may still make, if this fails. */
  async #suspectIfUnknown<Result>(
    { resources, owner, ttlMs }: AcquireRequest | ExtendRequest,
    lease: Lease,
    request: () => Promise<Result>,
  ): Promise<Result> {
    try {
      return await request();
    } catch (error) {
      const keys = resources.map((resource) => this.keysOf(resource));
      const mayBeClaimed = error instanceof EtcdError && !error.isRefusal;
      if (mayBeClaimed) this.#ends.suspect({ keys, owner, lease, endMs: performance.now() + ttlMs });
      throw error;
    }
  }

  async #read(resources: readonly string[], deadlineMs: number): Promise<ResourceState[]> {
    const keys = resources.map((resource) => this.keysOf(resource));
    return statesIn(await this.#send(read(keys), deadlineMs), keys);
  }

  #send(request: TxnRequest, deadlineMs: number): Promise<TxnResponse> {
    return this.#client.call(txn, request, deadlineMs);
  }

  /** Runs a call that puts claims on leases. */
  #withLeases<Reply>(
    request: NodeRequest,
    call: (findLease: FindLease, deadlineMs: number) => Promise<Reply>,
  ): Promise<Reply> {
    return this.#withDeadline(request, (deadlineMs) =>
      this.#leases.use(deadlineMs, (findLease) => call(findLease, deadlineMs)),
    );
  }

  /** Runs a call with its deadline, and tells the user which failures no retry repairs. */
  async #withDeadline<Reply>(
    { resources, timeoutMs }: Pick<NodeRequest, "resources" | "timeoutMs">,
    call: (deadlineMs: number) => Promise<Reply>,
  ): Promise<Reply> {
    if (resources.length > this.#resourcesMax) {
      const message =
        `one call can name at most ${this.#resourcesMax} resources, not ${resources.length}: ` +
        "raise --max-txn-ops of the etcd servers, and the option maxTxnOps with it";
      throw new ConfigurationError(message, resources);
    }
    try {
      // No timer takes longer than 24 days.
      return await call(performance.now() + Math.min(timeoutMs, dayMs));
    } catch (error) {
      if (!(error instanceof EtcdError) || error.remedy !== "other configuration") throw error;
      throw new ConfigurationError(error.message, resources);
    }
  }
}

/** Whether a node with this floor serves the clients of an epoch. */
function serves({ epoch: served }: Floor, epoch: number): boolean {
  return served === 0 || Math.abs(epoch - served) <= 1;
}

function denialOf(
  { resources, owner, takeover, shared = false }: AcquireRequest,
  states: readonly ResourceState[],
): Denial | undefined {
  // A claim of the same owner blocks a request for more resources.
  const isBlocking = (claim: ClaimState): boolean =>
    claim.owner !== takeover && !(shared && claim.isShared && claim.owner !== owner);
  const blocking = states.map(({ claims }) => claims.filter(isBlocking).map((claim) => claim.owner));
  if (blocking.every((owners) => owners.length === 0)) return undefined;
  const others = new Set(blocking.flat().filter((each) => each !== owner));
  const [holder] = others;
  const heldResources = resources.filter((_, index) => blocking[index]?.some((each) => each !== owner));
  return {
    granted: false,
    // Of several owners, it is not known which claim lasts longest.
    ...(holder !== undefined && others.size === 1 && { holder }),
    ...(heldResources.length > 0 && { heldResources }),
  };
}

/** Returns whether a request shares each of the resources with others than itself and the owner that it replaces. */
function joinsAll(
  { owner, shared = false }: AcquireRequest | ExtendRequest,
  states: readonly ResourceState[],
  replaced: string | undefined,
): boolean {
  const stays = (claim: ClaimState): boolean => claim.isShared && claim.owner !== owner && claim.owner !== replaced;
  return shared && states.every(({ claims }) => claims.some(stays));
}

/** Returns the owner's claim. */
function ownIn(state: ResourceState | undefined, owner: string): ClaimState {
  return state?.claims.find((claim) => claim.owner === owner) as ClaimState;
}

function highestFence(states: readonly ResourceState[]): number {
  return Math.max(...states.map(({ counter }) => counter.fence));
}

function assertFence(fence: number, resources: readonly string[]): number {
  if (!Number.isSafeInteger(fence)) throw new RangeError(`the fence counter of ${resources} is used up`);
  return fence;
}
