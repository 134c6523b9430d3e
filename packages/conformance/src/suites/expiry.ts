import { expect } from "vitest";
import { type Fact, fact, factNeeding } from "../fact.ts";
import { freshOwner, longMs } from "../world/client.ts";
import { dayMs, minuteMs, thirtyDaysMs } from "../world/durations.ts";
import { expectKeptFor } from "../world/expectations.ts";
import { claimAndExpire, claimWhenFree, clockGrainMs, momentMs, shareOf, type World } from "../world/world.ts";

/** The facts about the end of a claim. Bounds are lower bounds: a slow machine is not a wrong node. */
const endFacts: readonly Fact[] = [
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

/** Long enough that a few percent of it are more than a clock's grain and the time between two looks. */
const ttlMs = 3_000;

/** How far time advances between two looks where that takes no real time, in milliseconds. */
const stepMs = 7;

/** A claim that must be kept for `ttlMs` from `startMs` on at the least. */
interface TimedClaim {
  /** How the ttl was set, after "ends …". */
  readonly how: string;
  readonly resource: string;
  /** When the request was about to be sent: the node's own count starts later, never earlier. */
  readonly startMs: number;
}

/** Makes a claim in each of the ways that set a ttl, as far as the server can. */
async function claimInEveryWay(world: World): Promise<TimedClaim[]> {
  const { node, rival } = world;
  const claims: TimedClaim[] = [];
  const add = async (how: string, claim: (resource: string) => Promise<boolean>): Promise<void> => {
    const [resource, startMs] = [`claimed by ${how}`, world.elapsedMs()];
    if (await claim(resource)) claims.push({ how, resource, startMs });
  };
  await add("acquire()", async (resource) => {
    await node.grant("alice", resource, { ttlMs });
    return true;
  });
  const beforeMs = world.elapsedMs();
  await node.grant("alice", "claimed by extend()", { ttlMs: ttlMs / 2 });
  await add("extend()", async (resource) => {
    const { held } = await node.extend("alice", resource, { ttlMs });
    // Only a machine that stood still may have let the claim end.
    if (!held)
      expect(world.elapsedMs() - beforeMs, "how long a claim was kept").toBeGreaterThan(ttlMs / 2 - clockGrainMs);
    return held;
  });
  if (world.can("takeover")) {
    await node.grant("alice", "claimed by takeover");
    await add("takeover", async (resource) => {
      await rival.grant("bob", resource, { takeover: "alice", ttlMs });
      return true;
    });
  }
  if (world.can("rejoin")) {
    await add("rejoin", async (resource) => {
      const reply = await node.extend("alice", resource, { rejoin: true, ttlMs });
      return !reply.held && reply.rejoined;
    });
  }
  if (world.can("severalResources")) {
    await add("acquire() of several", async (resource) => {
      await node.grant("alice", [resource, "another"], { ttlMs });
      return true;
    });
  }
  return claims;
}

/** Fails if a node says that less remains than must, now that its answer is here. */
function expectRemaining(world: World, told: string, remainingMs: number, claim: TimedClaim, claimTtlMs = ttlMs): void {
  const elapsedMs = world.elapsedMs() - claim.startMs;
  const leastMs = claimTtlMs - elapsedMs - world.remainingGrainMs(elapsedMs);
  if (remainingMs >= leastMs) return;
  const short = claimTtlMs - elapsedMs - remainingMs;
  throw new Error(
    `claims end early: ${shareOf(short, claimTtlMs)} of the ttl that ${claim.how} set (${told} says ${remainingMs} ms, ` +
      `but ${claimTtlMs} ms were asked for no more than ${elapsedMs.toFixed(0)} ms ago)`,
  );
}

/** Looks at a claim once, and returns whether it has ended. Fails if it ended early, or is said to end early. */
async function hasEnded(world: World, claim: TimedClaim): Promise<boolean> {
  const { rival } = world;
  if (rival.node.inspect) {
    const { remainingMs } = await rival.inspect(claim.resource);
    expectRemaining(world, "inspect()", remainingMs ?? 0, claim);
  }
  const reply = await rival.acquire(freshOwner(), claim.resource);
  if (reply.granted) expectRemaining(world, "a grant to another owner", 0, claim);
  else if (reply.retryAfterMs !== undefined) expectRemaining(world, "retryAfterMs", reply.retryAfterMs, claim);
  return reply.granted;
}

/** The facts about the last few percent of a ttl. */
const wholeTtlFacts: readonly Fact[] = [
  fact("a claim is kept for the whole of a ttl of seconds, however it was made", async (world) => {
    let left = await claimInEveryWay(world);
    await world.eventually(
      "the claims end",
      async () => {
        const ended = await Promise.all(left.map((claim) => hasEnded(world, claim)));
        left = left.filter((_, index) => !ended[index]);
        if (left.length > 0) await world.leap(stepMs);
        return left.length === 0;
      },
      ttlMs + world.timeoutMs,
    );
  }),

  fact(
    "the remaining time is never less than the ttl without the time since the request, if it is told",
    async (world) => {
      const { node, rival } = world;
      for (const longTtlMs of [10 * minuteMs, 60 * minuteMs, dayMs]) {
        const claim: TimedClaim = { how: "acquire()", resource: `for ${longTtlMs} ms`, startMs: world.elapsedMs() };
        await node.grant("alice", claim.resource, { ttlMs: longTtlMs });
        const retryAfterMs = await rival.deny("bob", claim.resource);
        if (retryAfterMs !== undefined) expectRemaining(world, "retryAfterMs", retryAfterMs, claim, longTtlMs);
        if (!rival.node.inspect) continue;
        const { remainingMs } = await rival.inspect(claim.resource);
        expectRemaining(world, "inspect()", remainingMs ?? 0, claim, longTtlMs);
      }
    },
  ),
];

/** The facts about how long claims last. */
export const expiryFacts: readonly Fact[] = [...endFacts, ...wholeTtlFacts];
