import { startEtcdServer } from "@holdfast/testkit/etcd-server";
import { afterAll, describe, expect, test } from "vitest";
import { EtcdClient } from "../src/etcd-client.ts";
import { type Keys, keysOf } from "../src/keys.ts";
import { leaseGrant, type TxnRequest, type TxnResponse, txn } from "../src/messages.ts";
import { parseOptions } from "../src/settings.ts";
import {
  changeUnchanged,
  claimFree,
  deleteOwned,
  deleteUnchanged,
  type ResourceState,
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

/** One resource, and the transactions of the calls upon it. */
class Resource {
  readonly keys: Keys;
  /** The tokens of all grants, in order. */
  readonly fences: number[] = [];

  constructor(name: string) {
    this.keys = keysOf("copies/", name);
  }

  async state(): Promise<ResourceState> {
    return statesIn(await send(read([this.keys])))[0] as ResourceState;
  }

  /** A claim, of which the compares fit the present state. */
  async claim(owner: string, lease: number, hint = 0): Promise<TxnRequest> {
    const seen = await this.state();
    return changeUnchanged([{ keys: this.keys, seen, owner, lease, fence: Math.max(seen.counter.fence + 1, hint) }]);
  }

  /** An extension, of which the compares fit the present state. */
  async extension(owner: string, lease: number, fence?: number): Promise<TxnRequest> {
    return changeUnchanged([{ keys: this.keys, seen: await this.state(), owner, lease, fence }]);
  }

  async grant(owner: string, hint?: number): Promise<void> {
    if ((await this.state()).claim.owner !== null) return;
    await send(await this.claim(owner, older, hint));
    this.fences.push((await this.state()).counter.fence);
  }

  async extend(owner: string): Promise<void> {
    if ((await this.state()).claim.owner === owner) await send(await this.extension(owner, newer));
  }

  async release(owner: string): Promise<void> {
    await send(deleteOwned([this.keys], owner));
  }
}

/** Other calls, which may take effect between two copies. */
const events: Readonly<Record<string, (resource: Resource) => Promise<void>>> = {
  "alice releases": (resource) => resource.release("alice"),
  "alice extends": (resource) => resource.extend("alice"),
  "alice rejoins": (resource) => resource.grant("alice"),
  "bob acquires": (resource) => resource.grant("bob"),
  "bob releases": (resource) => resource.release("bob"),
};

interface Subject {
  /** Makes the state in which the call sends its transaction. */
  prepare(resource: Resource): Promise<void>;
  /** Returns the transaction. */
  request(resource: Resource): Promise<TxnRequest>;
  /** Whether the contract lets it take effect now. */
  mayTakeEffect(now: ResourceState, sent: ResourceState): boolean;
  readonly isGrant?: boolean;
  /** Whether a second copy may take effect, on another claim of the same owner. */
  readonly isRepeatable?: boolean;
}

const hint = 1_000;
const isSame = (now: ResourceState, sent: ResourceState): boolean =>
  JSON.stringify([now.claim, now.counter.fence]) === JSON.stringify([sent.claim, sent.counter.fence]);
const free = async (resource: Resource): Promise<void> => {
  await resource.grant("dave", 10);
  await resource.release("dave");
};
const held = (resource: Resource): Promise<void> => resource.grant("alice", 10);

const subjects: Readonly<Record<string, Subject>> = {
  "acquire with a token ahead of the counter": {
    prepare: free,
    request: async ({ keys }) => claimFree([keys], "alice", older, hint),
    mayTakeEffect: ({ claim, counter }) => claim.owner === null && counter.fence < hint,
    isGrant: true,
  },
  "acquire with a token behind the counter": {
    prepare: free,
    request: (resource) => resource.claim("alice", older),
    mayTakeEffect: isSame,
    isGrant: true,
  },
  "acquire of a resource without a counter": {
    prepare: async () => {},
    request: (resource) => resource.claim("alice", older),
    mayTakeEffect: isSame,
    isGrant: true,
  },
  "acquire with takeover": {
    prepare: (resource) => resource.grant("bob", 10),
    request: (resource) => resource.claim("alice", older),
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
    request: (resource) => resource.claim("alice", older, 500),
    mayTakeEffect: isSame,
    isGrant: true,
  },
  release: {
    prepare: held,
    request: async ({ keys }) => deleteOwned([keys], "alice"),
    mayTakeEffect: ({ claim }) => claim.owner === "alice",
    isRepeatable: true,
  },
  "deletion of a claim at its end": {
    prepare: held,
    request: async (resource) => deleteUnchanged([{ key: resource.keys.claim, state: await resource.state() }]),
    mayTakeEffect: isSame,
  },
};

/** All sequences of events up to a length. */
function sequences(length: number): string[][] {
  if (length === 0) return [[]];
  const shorter = sequences(length - 1);
  const longest = shorter.filter((each) => each.length === length - 1);
  return [...shorter, ...longest.flatMap((each) => Object.keys(events).map((event) => [...each, event]))];
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
    let after: ResourceState;
    if (step !== "copy") {
      await events[step]?.(resource);
      after = await resource.state();
    } else {
      const { succeeded } = await send(request);
      after = await resource.state();
      expect(succeeded).toBe(subject.mayTakeEffect(before, sent));
      if (!succeeded) expect(after).toEqual(before);
      if (succeeded && subject.isGrant) resource.fences.push(after.counter.fence);
      effects += Number(succeeded);
    }
    expect(after.counter.fence).toBeGreaterThanOrEqual(before.counter.fence);
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
      const all = sequences(lengthMax).flatMap(orders);
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
