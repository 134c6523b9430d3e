import { setTimeout as sleep } from "node:timers/promises";
import type { LockNode } from "@holdfast/core";
import { type EtcdCluster, startEtcdCluster } from "@holdfast/testkit/etcd-server";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import { etcdNode } from "../src/index.ts";
import { interceptRequests, type Sent } from "./interception.ts";

const cluster = await startEtcdCluster(3);
afterAll(() => cluster.stop());

/** What the workers have seen. */
interface Tally {
  grants: number;
  failures: number;
  overlaps: number;
  /** The tokens in the order of the grants. */
  readonly fences: number[];
}

const workers = 6;
const grantsBefore = 60;
const grantsAfter = 60;
const ttlMs = 3_000;
const timeoutMs = 1_500;
const limitMs = 60_000;

/**
 * Lets workers contend for one resource, each over a client of its own, while a fault begins and ends. A worker counts
 * itself as the holder from the reply to its claim until it sends the release, or its ttl from before the claim is over.
 */
async function storm(prefix: string, fault: () => Promise<() => Promise<void>>): Promise<Tally> {
  const tally: Tally = { grants: 0, failures: 0, overlaps: 0, fences: [] };
  const endpoints = cluster.servers.map(({ url }) => url);
  const holders = new Map<string, number>();
  let isOver = false;
  const work = async (node: LockNode, worker: number): Promise<void> => {
    for (let round = 0; !isOver; round++) {
      const owner = `worker ${worker}, ${round}`;
      const request = { resources: ["r"], owner, timeoutMs };
      const sentMs = performance.now();
      try {
        const reply = await node.acquire({ ...request, ttlMs, fenceHint: 1 });
        if (reply.granted) {
          for (const [other, endMs] of holders) if (performance.now() < endMs && other !== owner) tally.overlaps += 1;
          holders.set(owner, sentMs + ttlMs);
          tally.grants += 1;
          tally.fences.push(reply.fence);
          await sleep(1);
          const extended = await node.extend({ ...request, ttlMs, fence: reply.fence, rejoin: false });
          if (!extended.held) tally.failures += 1;
        }
      } catch {
        tally.failures += 1;
      }
      holders.delete(owner);
      await node.release(request).catch(() => {
        tally.failures += 1;
      });
      await sleep(Math.random() * 10);
    }
  };
  const reach = async (grants: number): Promise<void> => {
    for (const endMs = performance.now() + limitMs; tally.grants < grants; await sleep(10)) {
      if (performance.now() > endMs) throw new Error(`only ${tally.grants} of ${grants} grants`);
    }
  };
  const nodes = Array.from({ length: workers }, () => etcdNode({ endpoints, prefix }));
  const working = Promise.all(nodes.map(work));
  try {
    await reach(grantsBefore);
    const end = await fault();
    const before = tally.grants;
    await reach(before + grantsAfter);
    await end();
    await reach(tally.grants + grantsAfter);
  } finally {
    isOver = true;
    await working;
    await Promise.all(nodes.map((node) => node.close()));
  }
  return tally;
}

const leaderDown = async (act: (leader: number) => Promise<() => Promise<void>>) => act(await cluster.leader());

const faults: Readonly<Record<string, (cluster: EtcdCluster) => Promise<() => Promise<void>>>> = {
  "the leader is killed": ({ servers }) =>
    leaderDown(async (leader) => {
      await servers[leader]?.kill();
      await cluster.leader(leader);
      return async () => servers[leader]?.restart();
    }),
  "the leader is stopped": ({ servers }) =>
    leaderDown(async (leader) => {
      servers[leader]?.pause();
      await cluster.leader(leader);
      return async () => servers[leader]?.resume();
    }),
  "the leader is cut off from the others": ({ isolate, heal }) =>
    leaderDown(async (leader) => {
      isolate(leader);
      await cluster.leader(leader);
      return async () => heal();
    }),
  "requests are lost, repeated and late, and replies are lost": async () => {
    interceptRequests((sent) => void mistreat(sent));
    return async () => void vi.restoreAllMocks();
  },
};

async function mistreat({ deliver, deliverWithoutReply }: Sent): Promise<void> {
  const ignore = (): void => {};
  const late = () => sleep(300 * Math.random() ** 4);
  const kind = Math.random();
  if (kind < 0.02)
    return sleep(2 * timeoutMs * Math.random())
      .then(deliverWithoutReply)
      .catch(ignore);
  if (kind < 0.04) return deliverWithoutReply().catch(ignore);
  if (kind < 0.2) void late().then(deliverWithoutReply).catch(ignore);
  if (kind < 0.4) await late();
  deliver();
}

afterEach(async () => {
  cluster.heal();
  for (const server of cluster.servers) server.resume();
  await cluster.leader();
});

for (const [name, fault] of Object.entries(faults)) {
  test(`etcdNode() excludes and its fences increase while ${name}`, async () => {
    const { grants, failures, overlaps, fences } = await storm(`chaos ${name}/`, () => fault(cluster));
    const repeated = fences.filter((fence, index) => index > 0 && fence <= (fences[index - 1] as number)).length;
    console.log(`${name}: ${grants} grants, ${failures} failures, ${overlaps} overlaps, ${repeated} repeated`);
    expect({ overlaps, repeated }).toEqual({ overlaps: 0, repeated: 0 });
    expect(grants).toBeGreaterThanOrEqual(grantsBefore + 2 * grantsAfter);
  });
}
