import { fuzzSeed } from "@holdfast/testkit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { claimOf, world } from "../world.ts";

fc.configureGlobal({ seed: fuzzSeed });

const nodeTimeoutMs = 50;
const ttlMs = 1_000;

/**
 * The path to one node: how long each way takes, what fails, and whether another owner holds the resource there.
 */
const anyPath = fc.record({
  requestMs: fc.integer({ min: 0, max: 120 }),
  replyMs: fc.integer({ min: 0, max: 120 }),
  failure: fc.option(fc.constantFrom("request" as const, "reply" as const, "node" as const), {
    nil: undefined,
    freq: 4,
  }),
  isTaken: fc.boolean(),
});
type Path = typeof anyPath extends fc.Arbitrary<infer T> ? T : never;

function grantsInTime({ requestMs, replyMs, failure, isTaken }: Path): boolean {
  return failure === undefined && !isTaken && requestMs + replyMs <= nodeTimeoutMs;
}

/** Acquires a lock over these paths, and returns the lock, if any. */
async function attemptOver(paths: readonly Path[]) {
  const it = world(paths.length, { waitTimeoutMs: 0, nodeTimeoutMs, ttlMs });
  for (const [index, { isTaken, requestMs, replyMs, failure }] of paths.entries()) {
    if (isTaken) await it.inner[index]?.acquire(claimOf("other", "r", 10 * ttlMs));
    const lost = failure && (failure === "node" ? { reject: new Error("down") } : { lose: failure });
    const fault = { requestMs, replyMs, ...lost };
    const node = it.nodes[index];
    if (node) node.fault = ({ method }) => (method === "acquire" ? fault : undefined);
  }
  const lock = await it.clock.until(it.redlock.acquire("r").catch(() => undefined));
  return { ...it, lock };
}

describe("any order, loss and delay of replies", { timeout: 60_000 }, () => {
  it("acquire() returns a lock exactly when a quorum of grants arrives in time", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyPath, { minLength: 1, maxLength: 5 }), async (paths) => {
        const { lock, clock } = await attemptOver(paths);
        expect(clock.monotonicMs()).toBeLessThanOrEqual(nodeTimeoutMs);
        const quorum = Math.floor(paths.length / 2) + 1;
        expect(lock !== undefined).toBe(paths.filter(grantsInTime).length >= quorum);
      }),
      { numRuns: 250 },
    );
  });

  it("acquire() releases a failed attempt on every node, and leaves a claim only where a reply was lost", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyPath, { minLength: 1, maxLength: 5 }), async (paths) => {
        const { lock, clock, nodes, inner } = await attemptOver(paths);
        fc.pre(lock === undefined);
        await clock.advance(300);
        for (const [index, node] of inner.entries()) {
          const ownersOf = (method: "acquire" | "release") =>
            nodes[index]?.callsOf(method).map(({ request }) => request.owner);
          expect(ownersOf("release")).toContain(ownersOf("acquire")?.[0]);
          const { owner } = await node.inspect("r");
          if (paths[index]?.isTaken) expect(owner).toBe("other");
          else if (paths[index]?.failure !== "reply") expect(owner).toBeNull();
        }
        await clock.advance(ttlMs);
        for (const node of inner) expect([null, "other"]).toContain((await node.inspect("r")).owner);
        expect(clock.pendingTimers).toBe(0);
      }),
      { numRuns: 250 },
    );
  });

  it("release() frees every node that granted the lock, however late the grant arrives", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyPath, { minLength: 3, maxLength: 5 }), async (paths) => {
        const healthy = paths.map((path, index) =>
          index < Math.floor(paths.length / 2) + 1
            ? { requestMs: 0, replyMs: 0, failure: undefined, isTaken: false }
            : path,
        );
        const { lock, clock, inner } = await attemptOver(healthy);
        await clock.until(lock?.release() ?? Promise.reject(new Error("no lock")));
        await clock.advance(300);
        for (const [index, node] of inner.entries()) {
          if (healthy[index]?.failure !== "reply") expect([null, "other"]).toContain((await node.inspect("r")).owner);
        }
      }),
      { numRuns: 100 },
    );
  });
});
