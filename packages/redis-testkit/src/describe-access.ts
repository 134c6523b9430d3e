import { clusterSlot } from "@holdfast/redis";
import { type RedisCluster, type RedisReply, type RedisServer, startRedisServer } from "@holdfast/testkit";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type ClientUnderTest, clientForTest, ready } from "./adapter-tools.ts";
import { allow, documentedPermissions, forFloors, forOperators } from "./permissions.ts";
import { acquireRequest, extendRequest, longMs, releaseRequest, scanAll } from "./requests.ts";
import { eventually } from "./timing.ts";

/** Creates a client that connects as the `user` of `permissions.ts`, to a logical database. */
export type MakeUserClient = (port: number, database: number) => ClientUnderTest;

const permissions = await documentedPermissions();
const forOperatorsOfCluster = [...forFloors, "+cluster|getkeysinslot", "+cluster|countkeysinslot", "+strlen"];
const forSharing = permissions.slice(permissions.indexOf("+zscore"));
const forExclusive = permissions.filter((permission) => !forSharing.includes(permission));
const forWaitingLists = forExclusive.filter((permission) => permission.startsWith("+z"));
const forAllElse = forExclusive.filter((permission) => !forWaitingLists.includes(permission));

/** Registers the tests that an adapter needs all documented permissions and no others. */
export function describeAccess(name: string, makeClient: MakeUserClient): void {
  describe(name, { timeout: 30_000 }, () => {
    let server: RedisServer;
    beforeAll(async () => {
      server = await startRedisServer();
    });
    afterAll(() => server.stop());

    const connect = (database = 0): ClientUnderTest => {
      onTestFinished(async () => {
        await server.command("FLUSHALL");
        await server.command("ACL", "LOG", "RESET");
      });
      return clientForTest(makeClient(server.port, database));
    };
    const connected = (): Promise<ClientUnderTest> => ready(connect());
    const allowAllBut = (left: readonly string[]): Promise<void> =>
      allow(
        server,
        permissions.filter((permission) => !left.includes(permission)),
      );
    /** Each use with the lines of permissions that it needs first, and no earlier use. */
    const uses: [use: (client: ClientUnderTest) => Promise<void>, own: readonly string[]][] = [
      [(client) => useEverything(client, server), forAllElse],
      [expectTurns, forWaitingLists],
      [shareInTurn, forSharing],
    ];
    const attempt = async (index: number): Promise<void> => {
      await server.command("FLUSHALL");
      await uses[index]?.[0](await connected());
    };
    /** Expects that all uses before one work. */
    const expectUsesBefore = async (index: number): Promise<void> => {
      for (let earlier = 0; earlier < index; earlier++) await attempt(earlier);
    };

    test("the documented permissions suffice, and those of the first lines for what needs no others", async () => {
      await allow(server, permissions);
      await expectUsesBefore(uses.length);
      expect(await denials(server)).not.toMatch(/eval|lock:|fence|line|released/);
      for (const index of [2, 1]) {
        await allowAllBut(uses.slice(index).flatMap(([, own]) => own));
        await expectUsesBefore(index);
      }
    });

    const needed = uses.flatMap(([, own], index) => own.map((permission) => [permission, index] as const));
    test.each(needed)("%s is needed, and not for what needs no others of its line", async (permission, index) => {
      await allowAllBut([permission]);
      await expectUsesBefore(index);
      await expect(attempt(index)).rejects.toThrow();
    });

    test("the permissions for operators' tools let them raise the floor and scan; raiseFloor() needs no +scan", async () => {
      const { node } = connect();
      const { raiseFloor, scan, acquire } = node;
      const raise = () => raiseFloor({ floor: 7, epoch: 0, timeoutMs: longMs });
      await allow(server, [...permissions, ...forOperators]);
      await eventually(async () => expect(await raise()).toEqual({ floor: 7, epoch: 0 }));
      await acquire(acquireRequest("alice"));
      await acquire(acquireRequest("bob", { resources: ["s"], shared: true }));
      expect(await scanAll(node)).toMatchObject({ highest: 8, claims: [{}, {}] });
      await allow(server, [...permissions, ...forFloors]);
      expect(await raise()).toEqual({ floor: 7, epoch: 0 });
      await expect(scanAll(node)).rejects.toThrow(/scan/);
      await allow(server, [...permissions, ...forOperators.filter((each) => each !== "+info")]);
      await expect(raise()).rejects.toThrow("+info");
      await expect(scan({ timeoutMs: longMs })).rejects.toThrow("+info");
    });

    test("claims and counters are in the client's database; a release in another one is announced, and frees nothing", async () => {
      await allow(server, [...permissions, "+select"]);
      const [{ node }, other] = [connect(), connect(3)];
      await ready(other);
      const heard: string[] = [];
      await eventually(() => node.watch?.(["r"], (resource) => heard.push(resource)));
      expect(await node.acquire(acquireRequest("alice", { fenceHint: 7 }))).toEqual({ granted: true, fence: 7 });
      expect(await other.node.acquire(acquireRequest("bob"))).toEqual({ granted: true, fence: 1 });
      expect(String(await server.command("INFO", "keyspace"))).toMatch(/db0:keys=2,.*db3:keys=2,/s);
      expect(await other.node.release(releaseRequest("bob"))).toEqual({ released: true });
      await eventually(() => expect(heard).toContain("r"));
      expect(await node.inspect("r")).toMatchObject({ owner: "alice", fence: 7 });
      expect(await other.node.inspect("r")).toMatchObject({ owner: null, fence: 1 });
    });

    test("+select is needed for a database other than 0", async () => {
      await allow(server, permissions);
      const { node } = connect(3);
      await eventually(async () => expect(await denials(server)).toContain("select"));
      await node.acquire(acquireRequest("alice")).catch(() => {});
      expect(await server.command("INFO", "keyspace")).not.toContain("db3");
    });
  });
}

/** Creates a cluster client that connects as the `user` of `permissions.ts`. */
export type MakeClusterUserClient = (ports: readonly number[]) => ClientUnderTest;

/** Registers the test that the permissions documented for a cluster suffice for an adapter. */
export function describeClusterAccess(name: string, cluster: RedisCluster, makeClient: MakeClusterUserClient): void {
  test(`${name}: the permissions documented for a cluster suffice`, { timeout: 30_000 }, async () => {
    const forCluster = [...permissions, "+cluster|slots", "+cluster|info"];
    for (const server of cluster.servers) await allow(server, forCluster);
    const client = await ready(clientForTest(makeClient(cluster.servers.map(({ port }) => port))));
    for (const resource of ["a", "b", "c", "d"]) {
      const heard: string[] = [];
      const request = acquireRequest("alice", { resources: [resource] });
      await eventually(() => client.node.watch?.([resource], (released) => heard.push(released)));
      await eventually(async () => expect(await client.node.acquire(request)).toMatchObject({ granted: true }));
      expect(await client.node.release(request)).toEqual({ released: true });
      await eventually(() => expect(heard).toEqual([resource]));
    }
    for (const server of cluster.servers) await allow(server, [...forCluster, ...forOperatorsOfCluster]);
    const { raiseFloor, scan, acquire } = client.node;
    expect(await raiseFloor({ floor: 0, epoch: 0, timeoutMs: longMs })).toEqual({ floor: 0, epoch: 0 });
    for (const [resource, shared] of [
      ["e", false],
      ["f", true],
    ] as const) {
      await acquire(acquireRequest("bob", { resources: [resource], shared }));
      // Some slots, beginning with that of the lock.
      const { claims } = await scan({ cursor: `keys ${clusterSlot(`lock:${resource}`)}`, timeoutMs: longMs });
      expect(claims).toContainEqual(expect.objectContaining({ resource, owner: "bob" }));
    }
  });
}

/** Uses every feature of the server that a node uses, and rejects unless each has its effect. */
async function useEverything({ node }: ClientUnderTest, { command }: RedisServer): Promise<void> {
  const heard: string[] = [];
  const unwatch = await node.watch?.(["r"], (resource) => heard.push(resource));
  await node.watch?.(["sentinel"], (resource) => heard.push(resource));
  await command("SCRIPT", "FLUSH");
  expect(await node.acquire(acquireRequest("alice"))).toEqual({ granted: true, fence: 1 });
  expect(await node.acquire(acquireRequest("bob"))).toMatchObject({ granted: false });
  // Longer than the remaining time of the claim, which may still be the whole ttl.
  const longer = { ttlMs: 2 * acquireRequest("alice").ttlMs };
  expect(await node.extend(extendRequest("alice", longer))).toEqual({ held: true, fence: 1 });
  expect(await node.inspect("r")).toMatchObject({ owner: "alice", fence: 1 });
  expect(await node.release(releaseRequest("alice"))).toEqual({ released: true });
  const hint = { resources: ["hinted"], fenceHint: Date.now() * 1_000 };
  expect(await node.acquire(acquireRequest("carol", hint))).toEqual({ granted: true, fence: hint.fenceHint });
  // Arrives after any announcement of the release.
  await command("PUBLISH", "holdfast:released:lock:sentinel", "");
  await eventually(() => expect(heard).toContain("sentinel"));
  expect(heard).toEqual(["r", "sentinel"]);
  await unwatch?.();
  // Takes effect after the end of the watch, as subscriptions change one after another.
  await node.watch?.(["another"], () => {});
  expect(await command("PUBSUB", "NUMSUB", "holdfast:released:lock:r")).toEqual(["holdfast:released:lock:r", 0]);
}

/**
 * Makes two waiters and, behind them, the releaser enter the waiting list and leave it one after another, and rejects
 * unless the releases name the waiters.
 */
async function expectTurns({ node }: ClientUnderTest): Promise<void> {
  const grant = { granted: true };
  expect(await node.acquire(acquireRequest("alice", { fenceHint: 7 }))).toMatchObject(grant);
  expect(await node.acquire(acquireRequest("bob", { waiter: "first" }))).toMatchObject({ granted: false });
  await node.extend(extendRequest("alice", { fence: 9 }));
  expect(await node.acquire(acquireRequest("carol", { waiter: "second" }))).toMatchObject({ granted: false });
  const releases = [await node.release({ ...releaseRequest("alice"), waiter: "releaser" })];
  expect(await node.acquire(acquireRequest("bob"))).toMatchObject(grant);
  releases.push(await node.release(releaseRequest("bob")));
  expect(await node.acquire(acquireRequest("alice again", { waiter: "releaser" }))).toMatchObject(grant);
  releases.push(await node.release(releaseRequest("alice again")));
  for (const { released } of releases) expect(released).toBe(true);
  expect(releases.map(({ next }) => next)).toEqual(["first", "second", undefined]);
}

/** Shares a lock, and rejects unless the writer that waits is named after the readers. */
async function shareInTurn({ node }: ClientUnderTest): Promise<void> {
  const shared = { shared: true };
  for (const owner of ["alice", "bob"]) {
    expect(await node.acquire(acquireRequest(owner, shared))).toEqual({ granted: true, fence: 1 });
  }
  expect(await node.extend(extendRequest("alice", shared))).toEqual({ held: true, fence: 1 });
  expect(await node.acquire(acquireRequest("carol", { waiter: "writer" }))).toMatchObject({ granted: false });
  expect(await node.acquire(acquireRequest("dave", { ...shared, waiter: "reader" }))).toMatchObject({ granted: false });
  expect(await node.inspect?.("r")).toMatchObject({ sharers: [{}, {}] });
  expect(await node.release(releaseRequest("alice"))).toEqual({ released: true });
  expect(await node.release(releaseRequest("bob"))).toEqual({ released: true, next: "writer" });
}

/** Returns the log of commands that the server denied to users. */
async function denials({ command }: RedisServer): Promise<string> {
  const entries = (await command("ACL", "LOG")) as RedisReply[][];
  return entries.map((entry) => String(entry[entry.indexOf("object") + 1])).join();
}
