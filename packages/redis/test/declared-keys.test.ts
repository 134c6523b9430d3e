import type { ScanPortion } from "@holdfast/core/node";
import { acquireRequest, extendRequest, longMs, releaseRequest } from "@holdfast/redis-testkit/requests";
import type { Redis } from "ioredis";
import { describe, expect, onTestFinished, test } from "vitest";
import { clusterSlot, type RedisConnection, type RedisNode, redisNode } from "../src/index.ts";
import { connectionOver, startBench } from "./connection.ts";

/*
 * Sharded endpoints, proxies and strict ACLs refuse scripts that touch keys which their calls do not declare. MONITOR
 * shows each command of a script.
 */

const { client } = await startBench();

/** The commands of scripts without keys, and those of which every argument is a key. Of all others, the first one is. */
const keyless = new Set(["time", "info", "publish", "scan"]);
const ofKeys = new Set(["del", "exists", "mget"]);

function keysOf([command = "", ...args]: readonly string[]): readonly string[] {
  const name = command.toLowerCase();
  if (keyless.has(name)) return [];
  if (name === "mset") return args.filter((_, index) => index % 2 === 0);
  return ofKeys.has(name) ? args : args.slice(0, 1);
}

interface Watched {
  readonly connection: RedisConnection;
  /** Resolves with the keys that calls have declared, and those that scripts have touched, since the last time. */
  look(): Promise<{ declared: Set<string>; touched: Set<string> }>;
}

/** Watches a server and a connection to it. */
async function watched(over: Redis): Promise<Watched> {
  const monitor = await over.duplicate().monitor();
  onTestFinished(() => monitor.disconnect());
  let declared = new Set<string>();
  let touched = new Set<string>();
  let sentinels = 0;
  let onSentinel: (sentinel: string) => void = () => {};
  monitor.on("monitor", (_time: string, args: string[], source: string) => {
    if (source === "lua") for (const key of keysOf(args)) touched.add(key);
    else if (args[0]?.toLowerCase() === "echo") onSentinel(args[1] as string);
  });
  const connection = connectionOver(over);
  return {
    connection: {
      ...connection,
      runScript(command, script, call) {
        for (const key of call.keysAndArguments().slice(0, call.keyCount)) declared.add(String(key));
        return connection.runScript(command, script, call);
      },
    },
    async look() {
      const sentinel = `sentinel ${++sentinels}`;
      const seen = new Promise<void>((resolve) => {
        onSentinel = (text) => text === sentinel && resolve();
      });
      await over.echo(sentinel);
      await seen;
      const found = { declared, touched };
      declared = new Set();
      touched = new Set();
      return found;
    },
  };
}

type Operate = (node: RedisNode) => Promise<unknown>;

const [alice, bob, carol] = ["a", "b", "c"].map((digit) => digit.repeat(32)) as [string, string, string];
const several = { resources: ["q", "r", "s"] };
const shared = { shared: true };
const acquire =
  (owner: string, terms = {}): Operate =>
  (node) =>
    node.acquire(acquireRequest(owner, terms));
const extend =
  (owner: string, terms = {}): Operate =>
  (node) =>
    node.extend(extendRequest(owner, terms));
const release =
  (owner: string, terms = {}): Operate =>
  (node) =>
    node.release({ ...releaseRequest(owner), ...terms });
const inspect: Operate = (node) => node.inspect("r");
const together =
  (...operations: Operate[]): Operate =>
  (node) =>
    Promise.allSettled(operations.map((operate) => operate(node)));

/** Sequences in which each operation has the state to work on that the ones before it leave. */
const sequences: Record<string, readonly Operate[]> = {
  "an exclusive lock": [
    inspect,
    acquire(alice),
    acquire(alice),
    acquire(bob),
    acquire(bob, { fenceHint: Date.now() * 1_000 }),
    inspect,
    extend(alice, { fence: 90, ttlMs: 2 * longMs }),
    extend(bob),
    release(bob),
    release(alice),
    acquire(bob, { fenceHint: Date.now() * 1_000 }),
    release(bob, { undo: true }),
    extend(bob, { rejoin: true }),
    acquire(carol, { takeover: bob }),
    acquire("an owner of another form"),
  ],
  "an exclusive lock with waiters": [
    acquire(alice),
    acquire(bob, { waiter: "B" }),
    acquire(carol, { waiter: "C", shared: true }),
    acquire(bob, { waiter: "D", shared: true }),
    release(alice, { waiter: "A" }),
    acquire(bob, { waiter: "B" }),
    release(bob),
    acquire(carol, { waiter: "C" }),
    acquire(bob, { waiter: "B" }),
    release(carol),
    release(carol),
  ],
  "several resources": [
    acquire(alice, several),
    acquire(alice, several),
    acquire(bob, { ...several, waiter: "B" }),
    acquire(bob, { resources: ["p", "r"], waiter: "B" }),
    extend(alice, { ...several, fence: 500, ttlMs: 2 * longMs }),
    acquire(bob, { ...several, takeover: alice }),
    release(bob, { ...several, waiter: "B" }),
    extend(bob, { ...several, rejoin: true }),
    release(bob, { ...several, undo: true }),
  ],
  "a shared lock": [
    acquire(alice, shared),
    acquire(bob, shared),
    inspect,
    acquire(carol),
    acquire(carol, { waiter: "C" }),
    acquire("a reader too late", { ...shared, waiter: "R" }),
    extend(alice, { ...shared, ttlMs: 2 * longMs }),
    acquire("a successor", { ...shared, takeover: bob }),
    extend("a reader", { ...shared, rejoin: true }),
    release(alice),
    release("a reader"),
    release(bob),
    release("a successor"),
    extend(alice, { ...shared, rejoin: true }),
    acquire(bob, { takeover: alice }),
    acquire(carol, { ...shared, takeover: bob }),
    release(carol, { undo: true }),
    acquire(alice, { ...several, ...shared, waiter: "A" }),
    acquire(bob, { ...several, ...shared, takeover: alice }),
    acquire(carol, { ...several, waiter: "C" }),
    release(bob, several),
  ],
  "operations of one call": [
    together(acquire(alice), acquire(bob, { resources: ["s"] }), release(carol)),
    together(acquire(carol), acquire("dave", { resources: ["t"] }), release(bob, { resources: ["s"] })),
    together(inspect, acquire(carol, { resources: ["{u}1", "{u}2"] }), extend(alice), release(bob)),
  ],
};

describe("every key that a script touches is declared", () => {
  test.each(Object.entries(sequences))("%s", async (_, operations) => {
    const { connection, look } = await watched(client);
    for (const options of [{ verifyServer: true }, { restartGuardMs: 1, prefix: "guarded:" }]) {
      const node = redisNode(connection, options);
      for (const [index, operate] of operations.entries()) {
        // A node with a guard refuses claims of a longer ttl: it must still touch no other keys.
        await operate(node).catch(() => {});
        const { declared, touched } = await look();
        if (options.prefix === undefined) expect(touched.size, `operation ${index + 1}`).toBeGreaterThan(0);
        expect(
          [...touched].filter((key) => !declared.has(key)),
          `operation ${index + 1}`,
        ).toEqual([]);
      }
    }
  });

  test("and is in one slot with the others, where the operation has one resource", async () => {
    const { connection, look } = await watched(client);
    const node = redisNode(connection);
    for (const operations of [sequences["an exclusive lock with waiters"], sequences["a shared lock"]]) {
      for (const operate of (operations ?? []).slice(0, 14)) {
        await operate(node);
        const { declared } = await look();
        expect([...new Set([...declared].map(clusterSlot))]).toEqual([clusterSlot("lock:r")]);
      }
    }
  });

  test("when the floor is raised, and those that a scan finds have the prefix", async () => {
    const { connection, look } = await watched(client);
    const node = redisNode(connection, { verifyServer: false });
    await node.acquire(acquireRequest(alice));
    await node.acquire(acquireRequest(bob, { resources: ["s"], ...shared }));
    await node.raiseFloor({ floor: 70, epoch: 1, timeoutMs: longMs });
    const raised = await look();
    expect(raised.declared.size).toBeGreaterThan(16_384);
    expect([...raised.touched].filter((key) => !raised.declared.has(key))).toEqual([]);
    const owners: string[] = [];
    let portion: ScanPortion | undefined;
    do {
      const cursor = portion?.cursor;
      portion = await node.scan({ ...(cursor !== undefined && { cursor }), timeoutMs: longMs });
      owners.push(...portion.claims.map(({ owner }) => owner));
    } while (portion.cursor !== undefined);
    expect(owners.sort()).toEqual([alice, bob]);
    // A scan finds names of keys, and looks at those with the prefix: there is nothing to declare.
    const { declared, touched } = await look();
    expect([...touched].filter((key) => !declared.has(key) && !key.startsWith("lock:"))).toEqual([]);
  });

  test("as this test would notice", async () => {
    const { connection, look } = await watched(client);
    const source = "redis.call('GET', KEYS[1]) return redis.call('DEL', KEYS[1], 'undeclared')";
    const call = { firstKey: "k", keyCount: 1, keysAndArguments: () => ["k"], encode: () => "" };
    await connection.runScript("EVAL", source, call);
    expect(await look()).toEqual({ declared: new Set(["k"]), touched: new Set(["k", "undeclared"]) });
  });
});
