import { fuzzSeed } from "@holdfast/testkit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { claimOf, world } from "./world.ts";

fc.configureGlobal({ seed: fuzzSeed });

const nodeTimeoutMs = 50;
const ttlMs = 1_000;

/** How one node answers an acquire: how long both ways take, what gets lost, and whether a rival has it already. */
const anyWay = fc.record({
  requestMs: fc.integer({ min: 0, max: 120 }),
  replyMs: fc.integer({ min: 0, max: 120 }),
  lose: fc.option(fc.constantFrom("request" as const, "reply" as const), { nil: undefined, freq: 3 }),
  isTaken: fc.boolean(),
});
type Way = typeof anyWay extends fc.Arbitrary<infer T> ? T : never;

function grantsInTime({ requestMs, replyMs, lose, isTaken }: Way): boolean {
  return lose === undefined && !isTaken && requestMs + replyMs <= nodeTimeoutMs;
}

/** Takes the messages of an acquire through these ways, and tells what came of it. */
async function attemptOver(ways: readonly Way[]) {
  const it = world(ways.length, { waitTimeoutMs: 0, nodeTimeoutMs, ttlMs });
  for (const [index, { isTaken, requestMs, replyMs, lose }] of ways.entries()) {
    if (isTaken) await it.inner[index]?.acquire(claimOf("rival", "r", 10 * ttlMs));
    const fault = { requestMs, replyMs, ...(lose && { lose }) };
    const node = it.nodes[index];
    if (node) node.fault = ({ method }) => (method === "acquire" ? fault : undefined);
  }
  const lock = await it.clock.until(it.redlock.acquire("r").catch(() => undefined));
  return { ...it, lock };
}

describe("any order, loss and delay of replies", { timeout: 60_000 }, () => {
  it("acquire() has a lock exactly when a quorum of grants comes in time", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyWay, { minLength: 1, maxLength: 5 }), async (ways) => {
        const { lock } = await attemptOver(ways);
        const quorum = Math.floor(ways.length / 2) + 1;
        expect(lock !== undefined).toBe(ways.filter(grantsInTime).length >= quorum);
      }),
      { numRuns: 250 },
    );
  });

  it("acquire() that has failed sends a release to every node, and leaves a claim only where an answer was lost", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyWay, { minLength: 1, maxLength: 5 }), async (ways) => {
        const { lock, clock, nodes, inner } = await attemptOver(ways);
        fc.pre(lock === undefined);
        await clock.advance(300);
        for (const [index, node] of inner.entries()) {
          expect(nodes[index]?.callsOf("release").length).toBeGreaterThan(0);
          const { owner } = await node.inspect("r");
          if (ways[index]?.isTaken) expect(owner).toBe("rival");
          else if (ways[index]?.lose !== "reply") expect(owner).toBeNull();
        }
        await clock.advance(ttlMs);
        for (const node of inner) expect([null, "rival"]).toContain((await node.inspect("r")).owner);
        expect(clock.pendingTimers).toBe(0);
      }),
      { numRuns: 250 },
    );
  });

  it("release() frees every node on which the lock was claimed, however late the claim comes", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyWay, { minLength: 3, maxLength: 5 }), async (ways) => {
        const healthy = ways.map((way, index) =>
          index < Math.floor(ways.length / 2) + 1 ? { requestMs: 0, replyMs: 0, lose: undefined, isTaken: false } : way,
        );
        const { lock, clock, inner } = await attemptOver(healthy);
        await clock.until(lock?.release() ?? Promise.reject(new Error("no lock")));
        await clock.advance(300);
        for (const [index, node] of inner.entries()) {
          if (healthy[index]?.lose !== "reply") expect([null, "rival"]).toContain((await node.inspect("r")).owner);
        }
      }),
      { numRuns: 100 },
    );
  });
});
