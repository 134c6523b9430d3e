import {
  type AcquireReply,
  type AcquireRequest,
  ConfigurationError,
  type Denial,
  type ExtendReply,
  type ExtendRequest,
  type LockNode,
  type NodeView,
  type Unwatch,
} from "@holdfast/core";
import { assertAcquire, assertExtend, assertRelease } from "@holdfast/core/requests";
import { createClaimEnds } from "./claim-ends.ts";
import { createEtcdClient } from "./etcd-client.ts";
import { EtcdError } from "./failures.ts";
import { claimRange, decodeText, keysOf } from "./keys.ts";
import { createLeases, type Lease } from "./leases.ts";
import { leaseTimeToLive, type TxnRequest, type TxnResponse, txn } from "./messages.ts";
import type { EtcdNodeOptions } from "./options.ts";
import { parseOptions } from "./settings.ts";
import {
  type Change,
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
import { createWatches } from "./watches.ts";

/** A lock node over an etcd cluster. */
export interface EtcdNode extends LockNode {
  /** See {@link LockNode.watch}. */
  watch(resources: readonly string[], onReleased: (resource: string) => void): Promise<Unwatch>;
  /** See {@link LockNode.inspect}. `remainingMs` is what the lease has left, unless this node made the claim. */
  inspect(resource: string): Promise<NodeView>;
  /**
   * Lists the resources that are held at the moment, page by page, in no particular order.
   *
   * @example
   * ```ts
   * for await (const resource of node.list()) console.log(resource);
   * ```
   */
  list(): AsyncIterable<string>;
  /**
   * Ends all watches, revokes the leases that no claim uses, and closes all connections. Claims stay until they are
   * released or their leases end. Locks can still be extended and released: each call then opens a connection of its
   * own. Only `watch` rejects from then on. Safe to call more than once.
   */
  close(): Promise<void>;
  /** How long a caller should wait for a reply, in milliseconds: every claim is written to the disks of a majority. */
  readonly suggestedTimeoutMs: number;
}

const dayUs = 24 * 60 * 60 * 1_000_000;

/** How many keys `list` reads at a time. */
const pageSize = 1_000;

/** How long `inspect` and `list` wait for each reply, and `close` for the leases. */
const inspectTimeoutMs = 5_000;
const closeTimeoutMs = 1_000;

/** How long the deletion of a claim that has ended may take. After that, its lease ends it. */
const deletionTimeoutMs = 5_000;

/** How often one call replaces a lease that has ended early. */
const leasesMax = 3;

/**
 * Returns a lock node over an etcd cluster. All members of the cluster are one node: pass all of them as `endpoints`.
 * The node connects when it is first used.
 *
 * @param options see {@link EtcdNodeOptions}
 * @throws {TypeError | RangeError} naming the option that is wrong
 * @example
 * ```ts
 * const node = etcdNode({ endpoints: ["http://10.0.0.1:2379", "http://10.0.0.2:2379", "http://10.0.0.3:2379"] });
 * const redlock = new Redlock([node]);
 * ```
 */
export function etcdNode(options: EtcdNodeOptions): EtcdNode {
  const { name, prefix, maxTxnOps, ...access } = parseOptions(options);
  const resourcesMax = Math.floor(maxTxnOps / 2);
  const client = createEtcdClient(access);
  const leases = createLeases(client);
  const keysOfResource = (resource: string) => keysOf(prefix, resource);
  const deleteEnded = (request: TxnRequest): void => {
    client.call(txn, request, performance.now() + deletionTimeoutMs).catch(() => {});
  };
  const ends = createClaimEnds(keysOfResource, deleteEnded, resourcesMax);
  const watches = createWatches(client, (resource) => keysOfResource(resource).claim);

  const assertCount = (resources: readonly string[]): void => {
    if (resources.length <= resourcesMax) return;
    throw new ConfigurationError(
      `one call can name at most ${resourcesMax} resources, not ${resources.length}: raise --max-txn-ops of the etcd ` +
        "servers, and the option maxTxnOps with it",
      resources,
    );
  };

  /** Runs a call with its deadline, and tells the user which failures no retry repairs. */
  const withDeadline = async <Reply>(
    { resources, timeoutMs }: Pick<AcquireRequest, "resources" | "timeoutMs">,
    call: (deadlineMs: number) => Promise<Reply>,
  ): Promise<Reply> => {
    assertCount(resources);
    try {
      return await call(performance.now() + timeoutMs);
    } catch (error) {
      if (!(error instanceof EtcdError) || error.remedy !== "other configuration") throw error;
      throw new ConfigurationError(error.message, resources);
    }
  };

  /** Makes a call again if one of the leases that it has used has ended early. */
  const withLeases = async <Reply>(call: (used: Set<Lease>) => Promise<Reply>): Promise<Reply> => {
    for (let calls = 1; ; calls++) {
      const used = new Set<Lease>();
      try {
        return await call(used);
      } catch (error) {
        if (!(error instanceof EtcdError) || error.remedy !== "new lease" || calls === leasesMax) throw error;
        for (const lease of used) leases.forget(lease);
      }
    }
  };

  /** Remembers when claims end that a transaction has just written. */
  const remember = (
    { resources, owner }: Pick<AcquireRequest, "resources" | "owner">,
    { header: { revision } }: TxnResponse,
    claimOf: (index: number) => { lease: Lease; endMs: number; fence: number; counterRevision?: number },
  ): void => {
    for (const [index, resource] of resources.entries()) {
      const keys = keysOfResource(resource);
      const claim = { counterRevision: revision, ...claimOf(index) };
      ends.set(resource, { keys, owner, claimRevision: revision, ...claim });
    }
  };

  /** Remembers claims that an earlier request of this call has made, whose reply was lost. */
  const rememberLost = (request: AcquireRequest, states: readonly ResourceState[]): void => {
    const { resources, owner, ttlMs } = request;
    for (const [index, { claim, counter }] of states.entries()) {
      const resource = resources[index] as string;
      const lease = leases.get(claim.lease);
      if (lease === undefined || ends.get(resource, owner)?.claimRevision === claim.revision) continue;
      ends.set(resource, {
        ...{ keys: keysOfResource(resource), owner, lease, fence: counter.fence, endMs: performance.now() + ttlMs },
        ...{ claimRevision: claim.revision, counterRevision: counter.revision },
      });
    }
  };

  const claim = async (request: AcquireRequest, lease: Lease, deadlineMs: number): Promise<AcquireReply> => {
    const { resources, owner, ttlMs, takeover } = request;
    const keys = resources.map(keysOfResource);
    const hint = Math.max(1, Math.min(request.fenceHint, Date.now() * 1_000 + dayUs));
    const granted = (reply: TxnResponse, fence: number): AcquireReply => {
      remember(request, reply, () => ({ lease, endMs: performance.now() + ttlMs, fence }));
      return { granted: true, fence };
    };
    const first = await client.call(txn, claimFree(keys, owner, lease.id, hint), deadlineMs);
    if (first.succeeded) return granted(first, hint);
    // Each round fails only because another client has changed a resource, and at the latest at the deadline.
    for (let states = statesIn(first); ; ) {
      if (states.every((state) => state.claim.owner === owner)) {
        rememberLost(request, states);
        return { granted: true, fence: highestFence(states) };
      }
      const denial = denialOf(request, states, takeover);
      if (denial !== undefined) return denial;
      const fence = assertFence(Math.max(1 + highestFence(states), hint), resources);
      const changes = states.map((seen, index): Change => {
        return { keys: keys[index] as Change["keys"], seen, claim: { owner, lease: lease.id }, fence };
      });
      const reply = await client.call(txn, changeUnchanged(changes), deadlineMs);
      if (reply.succeeded) return granted(reply, fence);
      states = statesIn(reply);
    }
  };

  /** Returns a lease for a held claim, and how long that claim lasts anyway, in milliseconds from now. */
  const leaseFor = async (
    resource: string,
    { owner, ttlMs }: ExtendRequest,
    state: ResourceState,
    deadlineMs: number,
  ): Promise<{ readonly lease: Lease; readonly lastsMs: number }> => {
    const own = ends.get(resource, owner);
    if (own !== undefined && own.claimRevision === state.claim.revision) {
      const lastsMs = Math.max(ttlMs, Math.ceil(own.endMs - performance.now()));
      if (leases.get(own.lease.id) && leases.lasts(own.lease, lastsMs)) return { lease: own.lease, lastsMs };
      return { lease: await leases.lasting(lastsMs, deadlineMs), lastsMs };
    }
    // Another client has made the claim: only its lease says how long it may last. etcd rounds the time down.
    const { TTL } = await client.call(leaseTimeToLive, { ID: state.claim.lease, keys: false }, deadlineMs);
    const lastsMs = Math.max(ttlMs, 1_000 * (TTL + 1));
    return { lease: await leases.lasting(lastsMs, deadlineMs), lastsMs };
  };

  /** Extends claims that are all held, unless they have changed: then returns what they are now. */
  const extendHeld = async (
    request: ExtendRequest,
    states: readonly ResourceState[],
    used: Set<Lease>,
    deadlineMs: number,
  ): Promise<ExtendReply | ResourceState[]> => {
    const { resources, owner } = request;
    const terms: { lease: Lease; lastsMs: number }[] = [];
    for (const [index, resource] of resources.entries()) {
      const term = await leaseFor(resource, request, states[index] as ResourceState, deadlineMs);
      terms.push(term);
      used.add(term.lease);
    }
    // The claim is always written, even to the same lease: its new revision keeps it from being deleted at its old end.
    const changes = states.map((seen, index): Change => {
      const fence = seen.counter.fence < request.fence ? request.fence : undefined;
      const keys = keysOfResource(resources[index] as string);
      return { keys, seen, claim: { owner, lease: (terms[index] as { lease: Lease }).lease.id }, fence };
    });
    const reply = await client.call(txn, changeUnchanged(changes), deadlineMs);
    if (!reply.succeeded) return statesIn(reply);
    remember(request, reply, (index) => {
      const { lease, lastsMs } = terms[index] as { lease: Lease; lastsMs: number };
      const { counter } = states[index] as ResourceState;
      const isRaised = counter.fence < request.fence;
      const endMs = performance.now() + lastsMs;
      return isRaised
        ? { lease, endMs, fence: request.fence }
        : { lease, endMs, fence: counter.fence, counterRevision: counter.revision };
    });
    return { held: true, fence: Math.max(request.fence, highestFence(states)) };
  };

  /** Claims free resources again, unless they have changed: then returns what they are now. */
  const rejoin = async (
    request: ExtendRequest,
    states: readonly ResourceState[],
    used: Set<Lease>,
    deadlineMs: number,
  ): Promise<ExtendReply | ResourceState[]> => {
    const { resources, owner, ttlMs } = request;
    const fence = assertFence(Math.max(1 + highestFence(states), request.fence), resources);
    const lease = await leases.lasting(ttlMs, deadlineMs);
    used.add(lease);
    const changes = states.map((seen, index): Change => {
      return { keys: keysOfResource(resources[index] as string), seen, claim: { owner, lease: lease.id }, fence };
    });
    const reply = await client.call(txn, changeUnchanged(changes), deadlineMs);
    if (!reply.succeeded) return statesIn(reply);
    remember(request, reply, () => ({ lease, endMs: performance.now() + ttlMs, fence }));
    return { held: false, rejoined: true };
  };

  /** Returns what this client knows of claims that it has made, so that it need not read them. */
  const knownStates = ({ resources, owner }: ExtendRequest): ResourceState[] | undefined => {
    const states: ResourceState[] = [];
    for (const resource of resources) {
      const own = ends.get(resource, owner);
      if (own === undefined) return undefined;
      const { claimRevision, counterRevision, fence, lease } = own;
      states.push({
        claim: { owner, revision: claimRevision, lease: lease.id },
        counter: { fence, revision: counterRevision },
      });
    }
    return states;
  };
  const readStates = async (resources: readonly string[], deadlineMs: number): Promise<ResourceState[]> =>
    statesIn(await client.call(txn, read(resources.map(keysOfResource)), deadlineMs));

  return {
    name,
    suggestedTimeoutMs: 500,

    async acquire(request) {
      assertAcquire(request);
      const { resources, owner, ttlMs } = request;
      let mayBeClaimed = false;
      return withDeadline(request, async (deadlineMs) => {
        try {
          return await withLeases(async (used) => {
            const lease = await leases.lasting(ttlMs, deadlineMs);
            used.add(lease);
            mayBeClaimed = true;
            return await claim(request, lease, deadlineMs);
          });
        } catch (error) {
          const isOpen = error instanceof EtcdError && ["more time", "again soon"].includes(error.remedy);
          if (mayBeClaimed && isOpen) ends.suspect(resources, { owner, endMs: performance.now() + ttlMs });
          throw error;
        }
      });
    },

    async extend(request) {
      assertExtend(request);
      const { resources, owner } = request;
      return withDeadline(request, (deadlineMs) =>
        withLeases(async (used): Promise<ExtendReply> => {
          let states = knownStates(request) ?? (await readStates(resources, deadlineMs));
          for (;;) {
            const owners = states.map((state) => state.claim.owner);
            const isHeld = owners.every((each) => each === owner);
            const isFree = owners.every((each) => each === null || each === owner);
            if (!isHeld && !(request.rejoin && isFree)) return { held: false, rejoined: false };
            const reply = await (isHeld ? extendHeld : rejoin)(request, states, used, deadlineMs);
            if (!Array.isArray(reply)) return reply as ExtendReply;
            states = reply;
          }
        }),
      );
    },

    async release(request) {
      assertRelease(request);
      const { resources, owner } = request;
      return withDeadline(request, async (deadlineMs) => {
        const reply = await client.call(txn, deleteOwned(resources.map(keysOfResource), owner), deadlineMs);
        ends.released(resources, owner);
        return { released: deletionsIn(reply) > 0 };
      });
    },

    async inspect(resource) {
      return withDeadline({ resources: [resource], timeoutMs: inspectTimeoutMs }, async (deadlineMs) => {
        for (;;) {
          const [state] = (await readStates([resource], deadlineMs)) as [ResourceState];
          const { owner, revision, lease } = state.claim;
          const { fence } = state.counter;
          if (owner === null) return { owner: null, remainingMs: null, fence };
          const own = ends.get(resource, owner);
          if (own?.claimRevision === revision) {
            return { owner, remainingMs: Math.max(0, own.endMs - performance.now()), fence };
          }
          const { TTL } = await client.call(leaseTimeToLive, { ID: lease, keys: false }, deadlineMs);
          if (TTL >= 0 || lease === 0) return { owner, remainingMs: 1_000 * Math.max(0, TTL), fence };
        }
      });
    },

    async *list() {
      const { start, end } = claimRange(prefix);
      for (let from: Buffer | undefined = start; from !== undefined; ) {
        const page = readKeys(from, end, pageSize);
        const keys: readonly Buffer[] = await withDeadline(
          { resources: [], timeoutMs: inspectTimeoutMs },
          async (deadlineMs) => keysIn(await client.call(txn, page, deadlineMs)),
        );
        yield* keys.map((key) => decodeText(key.subarray(start.length)));
        const last: Buffer | undefined = keys.length < pageSize ? undefined : keys.at(-1);
        from = last && Buffer.concat([last, Buffer.of(0)]);
      }
    },

    watch: (resources, onReleased) => watches.watch(resources, onReleased),

    async close() {
      ends.close();
      watches.close();
      await leases.revokeUnused(performance.now() + closeTimeoutMs).catch(() => {});
      client.close();
    },
  };
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
