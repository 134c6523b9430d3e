import type { ScanPortion } from "@holdfast/core/node";
import { acquireRequest, longMs } from "@holdfast/redis-testkit/requests";
import { fuzzSeed } from "@holdfast/testkit";
import fc from "fast-check";
import type { Redis } from "ioredis";
import { describe, expect, onTestFinished, test } from "vitest";
import { clusterSlot, type RedisConnection, redisNode } from "../src/index.ts";
import { connectionOver, startBench } from "./connection.ts";
import { anyHistory, change, type NodeOperation, operate } from "./script-histories.ts";

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

const kinds = { usual: {}, guarded: { restartGuardMs: 10 ** 9 } };

describe("every key that a script touches is declared", () => {
  test.each(Object.entries(kinds))("in random histories of a node: %s", async (_, options) => {
    const { connection, look } = await watched(client);
    const node = redisNode(connection, { ...options, prefix: "lock:" });
    let touches = 0;
    const runs = fc.asyncProperty(anyHistory, async (history) => {
      await client.flushall();
      for (const [index, step] of history.entries()) {
        if (step.do === "limit") continue;
        if (step.do !== "call") {
          await change(step, "lock:", client, { nowUs: 0, index });
          continue;
        }
        await Promise.allSettled(step.operations.map((operation) => operate(node, operation)));
        const { declared, touched } = await look();
        touches += touched.size;
        expect([...touched].filter((key) => !declared.has(key))).toEqual([]);
        const [operation, ...others] = step.operations as [NodeOperation, ...NodeOperation[]];
        const isForOne = operation.do === "inspect" || operation.request.resources.length === 1;
        if (isForOne && others.length === 0) expect(new Set([...declared].map(clusterSlot)).size).toBeLessThan(2);
      }
    });
    await fc.assert(runs, { numRuns: 150, seed: fuzzSeed });
    expect(touches).toBeGreaterThan(500);
  });

  test("when the floor is raised, and those that a scan finds have the prefix", async () => {
    const { connection, look } = await watched(client);
    const node = redisNode(connection, { verifyServer: false });
    await node.acquire(acquireRequest("alice"));
    await node.acquire(acquireRequest("bob", { resources: ["s"], shared: true }));
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
    expect(owners.sort()).toEqual(["alice", "bob"]);
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
