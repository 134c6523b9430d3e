import { expect } from "vitest";
import { longMs } from "../client.ts";
import { dayMs, thirtyDaysMs } from "../durations.ts";
import { type Fact, fact, factNeeding } from "../fact.ts";
import { expectKeptFor } from "../kept.ts";
import { claimAndExpire, claimWhenFree, clockGrainMs, momentMs } from "../world.ts";

/** The facts about the end of a claim. Bounds are lower bounds: a slow machine is not a wrong node. */
export const expiryFacts: readonly Fact[] = [
  fact("a claim is kept for its ttl at least, and then is free", async (world) => {
    for (const ttlMs of [20, 60]) {
      const resource = `for ${ttlMs} ms`;
      const startMs = world.elapsedMs();
      await world.node.grant("alice", resource, { ttlMs });
      await expectKeptFor(world, resource, ttlMs, startMs);
    }
  }),

  factNeeding(
    "severalResources",
    "a claim on several resources is kept for its ttl on each, and then each is free",
    async (world) => {
      const startMs = world.elapsedMs();
      await world.node.grant("alice", ["a", "b", "c"], { ttlMs: 40 });
      for (const resource of ["a", "b", "c"]) await expectKeptFor(world, resource, 40, startMs);
    },
  ),

  fact("a claim with a ttl of 1 ms is granted, and ends", async (world) => {
    await world.node.grant("alice", "r", { ttlMs: 1 });
    await claimWhenFree(world, "r");
  }),

  fact("a claim that is not extended stays for a long ttl", async (world) => {
    await world.node.grant("alice", "r", { ttlMs: longMs });
    await world.leap(longMs - clockGrainMs);
    await world.rival.deny("bob", "r");
  }),

  // Timers of 32 bits end, at once, what should last for more than 24.8 days.
  factNeeding("longTtl", "a claim for thirty days is granted, and stays", async (world) => {
    await world.node.grant("alice", "r", { ttlMs: thirtyDaysMs });
    await world.pass(momentMs);
    const retryAfterMs = (await world.rival.deny("bob", "r")) ?? thirtyDaysMs;
    expect(retryAfterMs).toBeGreaterThan(29 * dayMs);
    await world.leap(29 * dayMs);
    await world.rival.deny("bob", "r");
  }),

  factNeeding("longTtl", "a claim is extended by thirty days, and stays", async (world) => {
    await world.node.grant("alice", "r");
    await world.node.hold("alice", "r", { ttlMs: thirtyDaysMs });
    await world.leap(29 * dayMs);
    await world.rival.deny("bob", "r");
  }),

  fact("an expired claim is no longer its owner's: it is neither extended nor released", async (world) => {
    await claimAndExpire(world, "alice", "r");
    expect(await world.node.extend("alice", "r")).toEqual({ held: false, rejoined: false });
    expect(await world.node.release("alice", "r")).toBe(false);
    await world.rival.grant("bob", "r");
  }),

  fact("an expired claim is claimed anew by its owner, not resent: the counter advances", async (world) => {
    const fence = await claimAndExpire(world, "alice", "r");
    expect(await world.node.grant("alice", "r")).toBe(fence + 1);
  }),

  fact("an old claim's end does not end the next owner's claim", async (world) => {
    await world.node.grant("alice", "r", { ttlMs: 40 });
    await world.node.release("alice", "r");
    await world.rival.grant("bob", "r");
    await world.pass(60);
    await world.rival.hold("bob", "r");
  }),
];
