import { startEtcdServer } from "@holdfast/testkit/etcd-server";
import { afterAll, describe, expect, test } from "vitest";
import { EtcdClient } from "../src/etcd-client.ts";
import { floorKey, type Keys, keysOf } from "../src/keys.ts";
import { leaseGrant, type TxnRequest, type TxnResponse, txn } from "../src/messages.ts";
import { parseOptions } from "../src/settings.ts";
import {
  type CounterState,
  claimFree,
  claimUnchanged,
  deleteOwned,
  deleteUnchanged,
  deletionsIn,
  extendUnchanged,
  type FloorGuard,
  type FloorState,
  floorIn,
  type OwnState,
  type ResourceState,
  raiseUnchanged,
  read,
  statesIn,
} from "../src/transactions.ts";

/*
 * A call may send a transaction to several members, and each of them may deliver it at any time, or never: before or
 * after anything else that happens to the resource. Two copies of each transaction are executed here in every order
 * with what other calls do.
 */

const server = await startEtcdServer();
const client = new EtcdClient(parseOptions({ endpoints: server.url }));
afterAll(async () => {
  client.close();
  await server.stop();
});

const send = (request: TxnRequest): Promise<TxnResponse> => client.call(txn, request, performance.now() + 60_000);

async function newLease(id: number): Promise<number> {
  await client.call(leaseGrant, { TTL: 3_600, ID: id }, performance.now() + 60_000);
  return id;
}
const [older, newer] = [await newLease(1), await newLease(2)];

/** A resource at one moment, and its floor. */
interface State extends ResourceState {
  readonly floor: FloorState;
}

/** What a claim may have. */
interface Terms {
  readonly isShared?: boolean;
  readonly fenceMin?: number;
  readonly replaced?: string;
  /** Whether it ignores the floor. */
  readonly rejoins?: boolean;
}

/** One resource with a floor of its own, and the transactions of the calls upon it. */
class Resource {
  readonly keys: Keys;
  readonly #floorKey: Buffer;
  /** The tokens of all grants, in order. */
  readonly fences: number[] = [];

  constructor(name: string) {
    this.keys = keysOf("copies/", name);
    this.#floorKey = floorKey(`copies/${name} `);
  }

  /** The counter that the client of each sharer knows. */
  readonly #counters = new Map<string, CounterState>();

  async state(): Promise<State> {
    const reply = await send(read([this.keys], this.#floorKey));
    return { ...(statesIn(reply, [this.keys])[0] as ResourceState), floor: floorIn(reply) };
  }

  /** A claim of the free resource, of which the comparison of the floor fits the present state. */
  async claimFree(isShared: boolean): Promise<TxnRequest> {
    const { floor } = await this.state();
    return claimFree([this.keys], { owner: "alice", isShared, lease: older, fence: hint }, this.guard(floor));
  }

  guard(seen: FloorState): FloorGuard {
    return { key: this.#floorKey, seen };
  }

  /** Raises the floor and the epoch above all that was before. */
  async raising(): Promise<TxnRequest> {
    const { counter, floor } = await this.state();
    const raised = { floor: Math.max(counter.fence, floor.floor) + 100, epoch: floor.epoch + 1 };
    return raiseUnchanged(this.guard(floor), raised);
  }

  /** A claim, of which the compares fit the present state. A shared one joins if there are other sharers. */
  async claim(owner: string, terms: Terms = {}): Promise<TxnRequest> {
    const { isShared = false, fenceMin, replaced, rejoins = false } = terms;
    const seen = await this.state();
    const others = seen.claims.filter((claim) => claim.isShared && claim.owner !== owner && claim.owner !== replaced);
    const joins = isShared && others.length > 0;
    const [counter, floor] = [seen.counter.fence, rejoins ? 0 : seen.floor.floor];
    const raised = fenceMin ?? (floor > counter ? floor : undefined);
    const fence = joins ? raised : Math.max(counter + 1, floor + 1, fenceMin ?? 0);
    const grant = { keys: this.keys, seen, owner, isShared, lease: older, fence, replaced, joins };
    return claimUnchanged([grant], rejoins ? undefined : this.guard(seen.floor));
  }

  /** An extension, of which the compares fit the present state. */
  async extension(owner: string, lease: number, fence?: number): Promise<TxnRequest> {
    const seen = await this.state();
    const isShared = seen.claims.some((claim) => claim.isShared && claim.owner === owner);
    return extendUnchanged([{ keys: this.keys, seen, owner, isShared, lease, fence }]);
  }

  async grant(owner: string, fenceMin = 0): Promise<void> {
    if ((await this.state()).claims.length > 0) return;
    await send(await this.claim(owner, { fenceMin }));
    this.fences.push((await this.state()).counter.fence);
  }

  async join(owner: string): Promise<void> {
    const { claims } = await this.state();
    if (claims.some((claim) => !claim.isShared || claim.owner === owner)) return;
    await send(await this.claim(owner, { isShared: true }));
    if (claims.length === 0) this.fences.push((await this.state()).counter.fence);
    await this.learn(owner);
  }

  async extend(owner: string): Promise<void> {
    if (!(await this.state()).claims.some((claim) => claim.owner === owner)) return;
    await send(await this.extension(owner, newer));
    await this.learn(owner);
  }

  /** Lets the client of an owner know the counter. */
  async learn(owner: string): Promise<void> {
    this.#counters.set(owner, (await this.state()).counter);
  }

  /** What the client of a sharer knows of its claim. */
  async known(owner: string): Promise<OwnState | undefined> {
    const claim = (await this.state()).claims.find((each) => each.owner === owner && each.isShared);
    const counter = this.#counters.get(owner);
    return claim && counter && { keys: this.keys, claim, counter };
  }

  async release(owner: string): Promise<void> {
    await send(deleteOwned([this.keys], owner, [await this.known(owner)]));
  }
}

/** Other calls, which may take effect between two copies. */
const events: Readonly<Record<string, (resource: Resource) => Promise<void>>> = {
  "alice releases": (resource) => resource.release("alice"),
  "alice extends": (resource) => resource.extend("alice"),
  "alice rejoins": (resource) => resource.grant("alice"),
  "bob acquires": (resource) => resource.grant("bob"),
  "bob releases": (resource) => resource.release("bob"),
  "carol shares": (resource) => resource.join("carol"),
  "carol releases": (resource) => resource.release("carol"),
  "carol's lease ends": async ({ keys }) => void (await send(deleteOwned([keys], "carol", [undefined]))),
  "dave shares": (resource) => resource.join("dave"),
  "the floor rises": async (resource) => void (await send(await resource.raising())),
};

/** Those that happen to the resource of a subject. */
const eventsOf = ({ isShared, hasFloor }: Subject): readonly string[] => {
  if (hasFloor) return ["the floor rises", "alice releases", "bob acquires", "bob releases"];
  if (!isShared) return ["alice releases", "alice extends", "alice rejoins", "bob acquires", "bob releases"];
  const sharers = ["carol shares", "carol releases", "carol's lease ends", "dave shares"];
  return ["alice releases", "alice extends", "bob acquires", ...sharers];
};

interface Subject {
  /** Makes the state in which the call sends its transaction. */
  prepare(resource: Resource): Promise<void>;
  /** Returns the transaction. */
  request(resource: Resource): Promise<TxnRequest>;
  /** Whether the contract lets it take effect now. */
  mayTakeEffect(now: State, sent: State): boolean;
  readonly isGrant?: boolean;
  /** Whether a second copy may take effect, on another claim of the same owner. */
  readonly isRepeatable?: boolean;
  /** Whether other calls share the resource. */
  readonly isShared?: boolean;
  /** Whether the floor rises meanwhile. */
  readonly hasFloor?: boolean;
}

const hint = 1_000;
const isSame = (now: ResourceState, sent: ResourceState): boolean =>
  JSON.stringify([now.claims, now.counter.fence]) === JSON.stringify([sent.claims, sent.counter.fence]);
const isSameCounter = (now: ResourceState, sent: ResourceState): boolean =>
  now.counter.revision === sent.counter.revision;
const isSameFloor = (now: State, sent: State): boolean =>
  now.floor.floor === sent.floor.floor && now.floor.epoch === sent.floor.epoch;
const ownOf = ({ claims }: ResourceState) => claims.find(({ owner }) => owner === "alice");
const areShared = ({ claims }: ResourceState): boolean =>
  claims.some(({ isShared, owner }) => isShared && owner !== "alice");
const free = async (resource: Resource): Promise<void> => {
  await resource.grant("dave", 10);
  await resource.release("dave");
};
const held = (resource: Resource): Promise<void> => resource.grant("alice", 10);

const heldWithCarol = async (resource: Resource): Promise<void> => {
  await resource.join("alice");
  await resource.join("carol");
};
const deletionAtEnd = (keys: Keys, state: ResourceState): TxnRequest => {
  const claim = ownOf(state);
  return deleteUnchanged(claim ? [{ keys, claim, counter: state.counter }] : []);
};

const subjects: Readonly<Record<string, Subject>> = {
  "acquire with a token ahead of the counter": {
    prepare: free,
    request: (resource) => resource.claimFree(false),
    mayTakeEffect: ({ claims, counter }) => claims.length === 0 && counter.fence < hint,
    isGrant: true,
  },
  "acquire with a token ahead of the counter and the floor": {
    hasFloor: true,
    prepare: free,
    request: (resource) => resource.claimFree(false),
    mayTakeEffect: (now, sent) => now.claims.length === 0 && now.counter.fence < hint && isSameFloor(now, sent),
    isGrant: true,
  },
  "acquire with a token behind the floor": {
    hasFloor: true,
    prepare: async (resource) => {
      await free(resource);
      await send(await resource.raising());
    },
    request: (resource) => resource.claim("alice"),
    mayTakeEffect: (now, sent) => isSame(now, sent) && isSameFloor(now, sent),
    isGrant: true,
  },
  "acquire that joins below the floor": {
    hasFloor: true,
    prepare: async (resource) => {
      await resource.join("carol");
      await send(await resource.raising());
    },
    request: (resource) => resource.claim("alice", { isShared: true }),
    mayTakeEffect: (now, sent) => isSame(now, sent) && isSameFloor(now, sent),
  },
  raiseFloor: {
    hasFloor: true,
    prepare: free,
    request: (resource) => resource.raising(),
    mayTakeEffect: isSameFloor,
  },
  "acquire with a token behind the counter": {
    prepare: free,
    request: (resource) => resource.claim("alice"),
    mayTakeEffect: isSame,
    isGrant: true,
  },
  "acquire of a resource without a counter": {
    prepare: async () => {},
    request: (resource) => resource.claim("alice"),
    mayTakeEffect: isSame,
    isGrant: true,
  },
  "acquire with takeover": {
    prepare: (resource) => resource.grant("bob", 10),
    request: (resource) => resource.claim("alice", { replaced: "bob" }),
    mayTakeEffect: isSame,
    isGrant: true,
  },
  "extend that raises the counter": {
    prepare: held,
    request: (resource) => resource.extension("alice", older, 500),
    mayTakeEffect: isSame,
  },
  "extend that keeps the counter": {
    prepare: held,
    request: (resource) => resource.extension("alice", older),
    mayTakeEffect: isSame,
  },
  "extend that rejoins": {
    prepare: free,
    request: (resource) => resource.claim("alice", { fenceMin: 500, rejoins: true }),
    mayTakeEffect: isSame,
    isGrant: true,
  },
  release: {
    prepare: held,
    request: async ({ keys }) => deleteOwned([keys], "alice", [undefined]),
    mayTakeEffect: (now) => ownOf(now) !== undefined,
    isRepeatable: true,
  },
  "deletion of a claim at its end": {
    prepare: held,
    request: async (resource) => deletionAtEnd(resource.keys, await resource.state()),
    mayTakeEffect: isSame,
  },
  "acquire of a shared claim with a token ahead of the counter": {
    isShared: true,
    prepare: free,
    request: (resource) => resource.claimFree(true),
    mayTakeEffect: ({ claims, counter }) => claims.length === 0 && counter.fence < hint,
    isGrant: true,
  },
  "acquire of a shared claim with a token behind the counter": {
    isShared: true,
    prepare: free,
    request: (resource) => resource.claim("alice", { isShared: true }),
    mayTakeEffect: isSame,
    isGrant: true,
  },
  "acquire that joins": {
    isShared: true,
    prepare: (resource) => resource.join("carol"),
    request: (resource) => resource.claim("alice", { isShared: true }),
    mayTakeEffect: (now, sent) => isSameCounter(now, sent) && areShared(now) && ownOf(now) === undefined,
  },
  "extend that rejoins others and raises the counter": {
    isShared: true,
    prepare: (resource) => resource.join("carol"),
    request: (resource) => resource.claim("alice", { isShared: true, fenceMin: 500 }),
    mayTakeEffect: (now, sent) => isSameCounter(now, sent) && areShared(now),
  },
  "acquire that joins and takes over": {
    isShared: true,
    prepare: async (resource) => {
      await resource.join("carol");
      await resource.join("dave");
    },
    request: (resource) => resource.claim("alice", { isShared: true, replaced: "dave" }),
    mayTakeEffect: (now, sent) =>
      isSameCounter(now, sent) && now.claims.some(({ owner }) => owner === "carol") && ownOf(now) === undefined,
  },
  "acquire with takeover of the only sharer": {
    isShared: true,
    prepare: (resource) => resource.join("carol"),
    request: (resource) => resource.claim("alice", { replaced: "carol" }),
    mayTakeEffect: (now, sent) => isSame(now, sent) && isSameCounter(now, sent),
    isGrant: true,
  },
  "acquire of a shared claim with takeover of the only sharer": {
    isShared: true,
    prepare: (resource) => resource.join("carol"),
    request: (resource) => resource.claim("alice", { isShared: true, replaced: "carol" }),
    mayTakeEffect: (now, sent) => isSame(now, sent) && isSameCounter(now, sent),
    isGrant: true,
  },
  "extend of a shared claim": {
    isShared: true,
    prepare: heldWithCarol,
    request: (resource) => resource.extension("alice", older),
    // Releases of others write the counter again, with its value.
    mayTakeEffect: (now, sent) =>
      ownOf(now)?.revision === ownOf(sent)?.revision && now.counter.fence === sent.counter.fence,
  },
  "release of a shared claim": {
    isShared: true,
    prepare: heldWithCarol,
    request: async (resource) => deleteOwned([resource.keys], "alice", [await resource.known("alice")]),
    mayTakeEffect: (now) => ownOf(now)?.isShared === true,
    isRepeatable: true,
  },
  "deletion of a shared claim at its end": {
    isShared: true,
    prepare: heldWithCarol,
    request: async (resource) => deletionAtEnd(resource.keys, await resource.state()),
    mayTakeEffect: (now, sent) => ownOf(now)?.revision === ownOf(sent)?.revision,
  },
};

/** All sequences of events up to a length. */
function sequences(names: readonly string[], length: number): string[][] {
  if (length === 0) return [[]];
  const shorter = sequences(names, length - 1);
  const longest = shorter.filter((each) => each.length === length - 1);
  return [...shorter, ...longest.flatMap((each) => names.map((event) => [...each, event]))];
}

/** All orders of two copies and a sequence of events. */
function orders(sequence: readonly string[]): string[][] {
  const all: string[][] = [];
  for (let second = 0; second <= sequence.length; second++) {
    for (let first = 0; first <= second; first++) {
      const before = sequence.slice(0, first);
      all.push([...before, "copy", ...sequence.slice(first, second), "copy", ...sequence.slice(second)]);
    }
  }
  return all;
}

let resources = 0;

/** Plays an order, and returns how many copies have taken effect. */
async function play(subject: Subject, order: readonly string[]): Promise<number> {
  resources += 1;
  const resource = new Resource(`${resources}`);
  await subject.prepare(resource);
  const [sent, request] = [await resource.state(), await subject.request(resource)];
  let effects = 0;
  let before = sent;
  for (const step of order) {
    let after: State;
    if (step !== "copy") {
      await events[step]?.(resource);
      after = await resource.state();
    } else {
      const reply = await send(request);
      const succeeded = subject.isRepeatable ? deletionsIn(reply) > 0 : reply.succeeded;
      after = await resource.state();
      if (succeeded && !subject.isRepeatable) await resource.learn("alice");
      expect(succeeded).toBe(subject.mayTakeEffect(before, sent));
      if (!succeeded) expect(after).toEqual(before);
      if (succeeded && subject.isGrant) {
        resource.fences.push(after.counter.fence);
        if (subject.hasFloor) expect(after.counter.fence).toBeGreaterThan(after.floor.floor);
      }
      effects += Number(succeeded);
    }
    expect(after.counter.fence).toBeGreaterThanOrEqual(before.counter.fence);
    expect(after.floor.floor).toBeGreaterThanOrEqual(before.floor.floor);
    before = after;
  }
  expect(resource.fences).toEqual([...new Set(resource.fences)].sort((a, b) => a - b));
  return effects;
}

/** Three events take four minutes, and have found nothing else. */
const lengthMax = 2;
const inParallel = 100;

describe("etcdNode() whose transactions arrive twice, at any time", () => {
  for (const [name, subject] of Object.entries(subjects)) {
    const fact = subject.isRepeatable
      ? "frees nothing of another owner"
      : "takes effect once at most, if nothing changed";
    test(`${name}: ${fact}`, { timeout: 120_000 }, async () => {
      const all = sequences(eventsOf(subject), lengthMax).flatMap(orders);
      let effects = 0;
      const playAll = async (): Promise<void> => {
        for (let order = all.pop(); order !== undefined; order = all.pop()) {
          const count = await play(subject, order).catch((error: unknown) => {
            throw new Error(`${name}: ${order?.join(", ")}`, { cause: error });
          });
          if (!subject.isRepeatable) expect(count, order.join(", ")).toBeLessThanOrEqual(1);
          effects += count;
        }
      };
      await Promise.all(Array.from({ length: inParallel }, playAll));
      expect(effects).toBeGreaterThan(0);
    });
  }
});
