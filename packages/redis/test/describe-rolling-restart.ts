import { Redlock } from "@holdfast/core";
import { type RedisServer, startRedisServer, VirtualClock } from "@holdfast/testkit";
import { expect, onTestFinished, test } from "vitest";
import type { RedisNodeOptions } from "../src/index.ts";
import { type ClientUnderTest, lockKey, type MakeClient } from "./adapter-tools.ts";
import { eventually } from "./requests.ts";

/** How long the servers keep a claim and, where they are guarded, do not vote after a restart. */
const ttlMs = 3_000;

/**
 * Registers the tests that a lock which is extended by itself survives the restart, without memory, of every one of five
 * servers in turn, and stays exclusive. The holder's time passes only as the test says, so that extensions come at once.
 */
export function describeRollingRestart(name: string, makeClient: MakeClient): void {
  test.each([
    ["without a restart guard", {}],
    ["with a restart guard", { restartGuardMs: ttlMs }],
  ])(
    `${name}: a lock survives a rolling restart of five servers, and stays exclusive, %s`,
    async (_, options) => {
      const servers = await Promise.all([1, 2, 3, 4, 5].map(() => startRedisServer()));
      onTestFinished(async () => void (await Promise.all(servers.map((server) => server.stop()))));
      const clock = new VirtualClock();
      let extensions = 0;
      const observer = {
        extended() {
          extensions += 1;
        },
      };
      const holders = clientsOf(servers, makeClient, options);
      const holder = new Redlock(nodesOf(holders), {
        clock,
        observer,
        ttlMs,
        nodeTimeoutMs: ttlMs - 1,
        waitTimeoutMs: 0,
      });
      const lock = await eventually(() => holder.acquire("r", { autoExtend: true }));
      const rivals = contend(nodesOf(clientsOf(servers, makeClient, options)));

      const extend = async (): Promise<void> => {
        const before = extensions;
        await clock.advance(lock.remainingMs() / 2);
        await eventually(() => expect(extensions).toBeGreaterThan(before));
      };
      for (const [index, server] of servers.entries()) {
        await server.restart();
        // A rival may be in the way on the server, until its attempt has failed.
        await eventually(async () => {
          await extend();
          expect(await server.command("GET", lockKey), `server ${index + 1}`).toBe(lock.owner);
          // Until then, the claim is there and does not count.
          expect(await holders[index]?.node.inspect("r")).not.toHaveProperty("recoveringMs");
        });
      }

      expect(lock.signal.aborted).toBe(false);
      expect(await rivals.stop()).toEqual({ locks: 0, tried: true });
      expect(extensions).toBeGreaterThanOrEqual(5);
      await lock.release();
    },
    60_000,
  );
}

function clientsOf(servers: readonly RedisServer[], makeClient: MakeClient, options: RedisNodeOptions) {
  return servers.map(({ port }, index) => {
    const client = makeClient(port, { name: `node ${index + 1}`, wakeUps: false, ...options });
    onTestFinished(client.close);
    return client;
  });
}

function nodesOf(clients: readonly ClientUnderTest[]) {
  return clients.map(({ node }) => node);
}

/** Tries to get the lock all the time, by a clock that is not the holder's. */
function contend(nodes: ReturnType<typeof nodesOf>) {
  const redlock = new Redlock(nodes, { ttlMs });
  let locks = 0;
  let attempts = 0;
  let isOver = false;
  const trying = (async () => {
    while (!isOver) {
      const lock = await redlock.tryAcquire("r").catch(() => null);
      if (lock !== null) locks += 1;
      attempts += 1;
      // Leaves the holder its turn on this process's event loop.
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  })();
  return {
    async stop() {
      isOver = true;
      await trying;
      return { locks, tried: attempts > 0 };
    },
  };
}
