import { type Lock, Redlock } from "@holdfast/core";
import type { RedisNodeOptions } from "@holdfast/redis";
import { type RedisServer, VirtualClock } from "@holdfast/testkit";
import { expect, onTestFinished, test } from "vitest";
import { type ClientUnderTest, lockKey, type MakeClient, serverForTest } from "./adapter-tools.ts";
import { eventually, ignore } from "./timing.ts";

/** The restart guard: how long a server does not vote after a restart, and the longest ttl that it allows. */
const guardMs = 5_000;

/**
 * Registers the tests that a lock with automatic extension stays exclusive while each of its five servers restarts, one
 * after another, and loses its memory. The holder has a virtual clock, so that extensions need no waiting.
 */
export function describeRollingRestart(name: string, makeClient: MakeClient): void {
  test.each([
    ["without a restart guard", 60_000, {}],
    ["with a restart guard", guardMs, { restartGuardMs: guardMs }],
  ])(
    `${name}: a lock survives a rolling restart of five servers, and stays exclusive, %s`,
    async (_, ttlMs, options) => {
      const servers = await Promise.all([1, 2, 3, 4, 5].map(() => serverForTest()));
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
      // Otherwise only a bare quorum might grant the lock, and the first restart would lose it.
      await eventually(async () => {
        for (const { node } of holders) expect(await node.inspect("r")).not.toHaveProperty("recoveringMs");
      });
      const lock = await eventually(() => holder.acquire("r", { autoExtend: true }));
      const contention = new AbortController();
      const rival = new Redlock(nodesOf(clientsOf(servers, makeClient, options)), { ttlMs: guardMs });
      const rivalled = rival.acquire("r", { waitTimeoutMs: Infinity, signal: contention.signal });
      ignore(rivalled);

      const keeping = keepExtending(clock, lock, () => extensions);
      for (const [index, server] of servers.entries()) {
        await server.restart();
        const before = extensions;
        // A rival may hold the resource on this server until its attempt has failed.
        await eventually(async () => {
          expect(extensions).toBeGreaterThan(before);
          expect(await server.command("GET", lockKey), `server ${index + 1}`).toBe(lock.owner);
          // Until then, the claim exists but does not count.
          expect(await holders[index]?.node.inspect("r")).not.toHaveProperty("recoveringMs");
        });
      }
      await keeping.stop();

      expect(lock.signal.aborted).toBe(false);
      contention.abort(new Error("it is still waiting"));
      await expect(rivalled).rejects.toThrow("it is still waiting");
      expect(extensions).toBeGreaterThanOrEqual(5);
      await lock.release();
    },
    120_000,
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

/** Extends the lock continuously, however long restarts take: on the servers its ttl is real time. */
function keepExtending(clock: VirtualClock, lock: Lock, extensions: () => number) {
  let isOver = false;
  const keeping = (async () => {
    while (!isOver) {
      const before = extensions();
      await clock.advance(lock.remainingMs() / 2);
      do {
        await new Promise((resolve) => setTimeout(resolve, 20));
        await clock.advance(1); // in case the extension has to be retried
      } while (!isOver && extensions() === before);
    }
  })();
  return {
    async stop() {
      isOver = true;
      await keeping;
    },
  };
}
