import {
  type AcquireReply,
  type AcquireRequest,
  ConfigurationError,
  type Denial,
  type ExtendReply,
  type ExtendRequest,
  type NodeRequest,
  type NodeView,
  type ReleaseReply,
  type ReleaseRequest,
} from "@holdfast/core";
import { assertAcquire, assertExtend, assertRelease } from "@holdfast/core/requests";
import { ClaimEnds } from "./claim-ends.ts";
import type { EtcdClient } from "./etcd-client.ts";
import { EtcdError } from "./failures.ts";
import { claimRange, decodeText, type Keys, keysOf } from "./keys.ts";
import { type Lease, Leases, lasts, remainingMs } from "./leases.ts";
import { leaseTimeToLive, type TxnRequest, type TxnResponse, txn } from "./messages.ts";
import {
  changeUnchanged,
  claimFree,
  deleteOwned,
  deletionsIn,
  keysIn,
  type ResourceState,
  read,
  readKeys,
  statesIn,
} from "./transactions.ts";

const dayMs = 24 * 60 * 60 * 1_000;

/** How many keys `list` reads at a time. */
const pageSize = 1_000;

/** How long `inspect` and `list` wait for each reply, and `close` for the leases. */
const inspectTimeoutMs = 5_000;
const closeTimeoutMs = 1_000;

/** On which lease a claim is, and how long it lasts from the reply on, in milliseconds. */
interface Term {
  readonly lease: Lease;
  readonly lastsMs: number;
}

/** Returns a lease for a claim that lasts so many milliseconds from now. */
type FindLease = (ttlMs: number) => Promise<Lease>;

/** The claims in an etcd cluster. */
export class Claims {
  readonly #client: EtcdClient;
  readonly #prefix: string;
  readonly #resourcesMax: number;
  readonly #leases: Leases;
  readonly #ends: ClaimEnds;

  /**
   * @param client the client of the cluster
   * @param prefix what the names of all keys start with
   * @param resourcesMax how many resources one transaction can change
   */
  constructor(client: EtcdClient, prefix: string, resourcesMax: number) {
    this.#client = client;
    this.#prefix = prefix;
    this.#resourcesMax = resourcesMax;
    this.#leases = new Leases(client);
    this.#ends = new ClaimEnds(client, resourcesMax);
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
    const { resources, owner, ttlMs, takeover } = request;
    const keys = resources.map((resource) => this.keysOf(resource));
    const hint = Math.max(1, Math.min(request.fenceHint, 1_000 * (Date.now() + dayMs)));
    const terms = resources.map((): Term => ({ lease, lastsMs: ttlMs }));
    const first = await this.#send(claimFree(keys, owner, lease.id, hint), deadlineMs);
    if (first.succeeded) {
      const { revision } = first.header;
      const counter = { fence: hint, revision };
      const state = { claim: { owner, revision, version: 1, lease: lease.id }, counter };
      for (const resource of resources) this.#remember(resource, state, lease, ttlMs);
      return { granted: true, fence: hint };
    }
    // Each round fails only because another client has changed a resource, and at the latest at the deadline.
    for (let states = statesIn(first); ; ) {
      if (states.every(({ claim }) => claim.owner === owner)) {
        this.#rememberLost(request, states);
        return { granted: true, fence: highestFence(states) };
      }
      const denial = denialOf(request, states, takeover);
      if (denial !== undefined) return denial;
      const fence = assertFence(Math.max(1 + highestFence(states), hint), resources);
      const changed = await this.#change(request, states, terms, () => fence, deadlineMs);
      if (changed === undefined) return { granted: true, fence };
      states = changed;
    }
  }

  /** See `LockNode.extend`. */
  async extend(request: ExtendRequest): Promise<ExtendReply> {
    assertExtend(request);
    const { resources, owner, rejoin } = request;
    this.#ends.trust(owner);
    return this.#withLeases(request, async (findLease, deadlineMs) => {
      let states = this.#knownStates(request) ?? (await this.#read(resources, deadlineMs));
      for (;;) {
        const owners = states.map(({ claim }) => claim.owner);
        const isHeld = owners.every((each) => each === owner);
        const isFree = owners.every((each) => each === null || each === owner);
        if (!isHeld && !(rejoin && isFree)) return { held: false, rejoined: false };
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
      terms.push(await this.#termOf(resource, request, states[index] as ResourceState, findLease, deadlineMs));
    }
    // The claim is always written, even to the same lease: its new revision keeps it from being deleted at its old end.
    const fenceOf = ({ counter }: ResourceState) => (counter.fence < request.fence ? request.fence : undefined);
    const changed = await this.#change(request, states, terms, fenceOf, deadlineMs);
    return changed ? { changed } : { held: true, fence: Math.max(request.fence, highestFence(states)) };
  }

  /** Claims free resources again, unless they have changed: then returns what they are now. */
  async #rejoin(
    request: ExtendRequest,
    states: readonly ResourceState[],
    findLease: FindLease,
    deadlineMs: number,
  ): Promise<ExtendReply | { readonly changed: ResourceState[] }> {
    const { resources, ttlMs } = request;
    const fence = assertFence(Math.max(1 + highestFence(states), request.fence), resources);
    const lease = await findLease(ttlMs);
    const terms = resources.map((): Term => ({ lease, lastsMs: ttlMs }));
    const change = () => this.#change(request, states, terms, () => fence, deadlineMs);
    const changed = await this.#suspectIfUnknown(request, lease, change);
    return changed ? { changed } : { held: false, rejoined: true };
  }

  /**
   * Returns the next term of a held claim. It stays on its lease if that lasts for another ttl: a new lease for what is
   * left of the old one would last longer each time.
   */
  async #termOf(
    resource: string,
    { owner, ttlMs }: ExtendRequest,
    { claim }: ResourceState,
    findLease: FindLease,
    deadlineMs: number,
  ): Promise<Term> {
    const own = this.#ends.get(resource, owner);
    const isOwn = own?.state.claim.revision === claim.revision;
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
      const reply = await this.#send(deleteOwned(keys, owner), deadlineMs);
      this.#ends.released(resources, owner);
      return { released: deletionsIn(reply) > 0 };
    });
  }

  /** See `LockNode.inspect`. */
  async inspect(resource: string): Promise<NodeView> {
    return this.#withDeadline({ resources: [resource], timeoutMs: inspectTimeoutMs }, async (deadlineMs) => {
      for (;;) {
        const [{ claim, counter }] = (await this.#read([resource], deadlineMs)) as [ResourceState];
        const { owner, revision, lease } = claim;
        const { fence } = counter;
        if (owner === null) return { owner, remainingMs: null, fence };
        const own = this.#ends.get(resource, owner);
        if (own?.state.claim.revision === revision) {
          return { owner, remainingMs: Math.max(0, own.endMs - performance.now()), fence };
        }
        const { TTL } = await this.#client.call(leaseTimeToLive, { ID: lease, keys: false }, deadlineMs);
        if (TTL >= 0 || lease === 0) return { owner, remainingMs: 1_000 * Math.max(0, TTL), fence };
      }
    });
  }

  /** See `EtcdNode.list`. */
  async *list(): AsyncGenerator<string> {
    const { start, end } = claimRange(this.#prefix);
    for (let from: Buffer | undefined = start; from !== undefined; ) {
      const page = readKeys(from, end, pageSize);
      const keys: readonly Buffer[] = await this.#withDeadline(
        { resources: [], timeoutMs: inspectTimeoutMs },
        async (deadlineMs) => keysIn(await this.#send(page, deadlineMs)),
      );
      yield* keys.map((key) => decodeText(key.subarray(start.length)));
      const last: Buffer | undefined = keys.length < pageSize ? undefined : keys.at(-1);
      from = last && Buffer.concat([last, Buffer.of(0)]);
    }
  }

  /** Leaves claims to their leases from now on, and revokes the leases that no claim uses. */
  async close(): Promise<void> {
    this.#ends.close();
    await this.#leases.revokeUnused(performance.now() + closeTimeoutMs).catch(() => {});
  }

  /** Writes claims if nothing has changed since; otherwise returns what the resources are now. */
  async #change(
    { resources, owner }: Pick<NodeRequest, "resources" | "owner">,
    states: readonly ResourceState[],
    terms: readonly Term[],
    fenceOf: (seen: ResourceState) => number | undefined,
    deadlineMs: number,
  ): Promise<ResourceState[] | undefined> {
    const changes = states.map((seen, index) => {
      const { lease } = terms[index] as Term;
      return { keys: this.keysOf(resources[index] as string), seen, owner, lease: lease.id, fence: fenceOf(seen) };
    });
    const reply = await this.#send(changeUnchanged(changes), deadlineMs);
    if (!reply.succeeded) return statesIn(reply);
    const { revision } = reply.header;
    for (const [index, { seen, fence }] of changes.entries()) {
      const { lease, lastsMs } = terms[index] as Term;
      const claim = { owner, revision, version: seen.claim.version + 1, lease: lease.id };
      const counter = fence === undefined ? seen.counter : { fence, revision };
      this.#remember(resources[index] as string, { claim, counter }, lease, lastsMs);
    }
    return undefined;
  }

  /** Remembers a claim that a transaction has just written. */
  #remember(resource: string, state: ResourceState, lease: Lease, lastsMs: number): void {
    const endMs = performance.now() + lastsMs;
    this.#ends.set(resource, { key: this.keysOf(resource).claim, state, lease, endMs });
  }

  /** Remembers claims that an earlier request of this client has made, whose reply was lost. */
  #rememberLost({ resources, owner, ttlMs }: AcquireRequest, states: readonly ResourceState[]): void {
    for (const [index, state] of states.entries()) {
      const resource = resources[index] as string;
      const lease = this.#leases.get(state.claim.lease);
      const isFresh = state.claim.version === 1 && this.#ends.get(resource, owner) === undefined;
      if (lease && isFresh) this.#remember(resource, state, lease, ttlMs);
    }
  }

  /** Returns what this client knows of claims that it has made, so that it need not read them. */
  #knownStates({ resources, owner }: ExtendRequest): ResourceState[] | undefined {
    const known = resources.flatMap((resource) => this.#ends.get(resource, owner)?.state ?? []);
    return known.length === resources.length ? known : undefined;
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
      if (mayBeClaimed) this.#ends.suspect({ resources, keys, owner, lease, endMs: performance.now() + ttlMs });
      throw error;
    }
  }

  async #read(resources: readonly string[], deadlineMs: number): Promise<ResourceState[]> {
    return statesIn(await this.#send(read(resources.map((resource) => this.keysOf(resource))), deadlineMs));
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

function denialOf(
  { resources, owner }: AcquireRequest,
  states: readonly ResourceState[],
  takeover: string | undefined,
): Denial | undefined {
  const owners = states.map(({ claim }) => claim.owner);
  const isBlocking = (each: string | null | undefined): each is string => each != null && each !== takeover;
  if (!owners.some(isBlocking)) return undefined;
  const others = owners.filter((each) => isBlocking(each) && each !== owner);
  const [holder] = others;
  const heldResources = resources.filter((_, index) => isBlocking(owners[index]) && owners[index] !== owner);
  return {
    granted: false,
    // Of several owners, it is not known which claim lasts longest.
    ...(typeof holder === "string" && new Set(others).size === 1 && { holder }),
    ...(heldResources.length > 0 && { heldResources }),
  };
}

function highestFence(states: readonly ResourceState[]): number {
  return Math.max(...states.map(({ counter }) => counter.fence));
}

function assertFence(fence: number, resources: readonly string[]): number {
  if (!Number.isSafeInteger(fence)) throw new RangeError(`the fence counter of ${resources} is used up`);
  return fence;
}
