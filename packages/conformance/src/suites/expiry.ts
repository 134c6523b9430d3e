import { expect } from "vitest";
import { type Fact, facts, factsNeeding } from "../fact.ts";
import { freshOwner, shared } from "../world/client.ts";
import { dayMs, longMs, minuteMs, thirtyDaysMs } from "../world/durations.ts";
import { expectKeptFor } from "../world/expectations.ts";
import { clockGrainMs, momentMs, shareOf, type World } from "../world/world.ts";

/** Long enough that a few percent of it exceed a clock's grain and the time between two polls. */
const ttlMs = 3_000;

/**
 * The time between two looks at a claim, in milliseconds: the shortest, and as a part of the time until it must end. One
 * that ends early by a larger part is seen to have ended.
 */
const looks = { leastMs: 7, share: 0.1 };

/** A claim that must last for at least `ttlMs` from `startMs` on. */
interface TimedClaim {
  /** The call that set the ttl. */
  readonly how: string;
  readonly resource: string;
  /** The time just before the request was sent: the node's count starts later, never earlier. */
  readonly startMs: number;
}

/** Makes a claim in each way that sets a ttl and that the server supports. */
async function claimInEveryWay(world: World): Promise<TimedClaim[]> {
  const { node, rival } = world;
  const claims: TimedClaim[] = [];
  /** Adds a claim, unless the step returns false: it could not be made. */
  const add = async (how: string, claim: (resource: string) => Promise<unknown>): Promise<void> => {
    const [resource, startMs] = [`claimed by ${how}`, world.elapsedMs()];
    if ((await claim(resource)) !== false) claims.push({ how, resource, startMs });
  };
  await add("acquire()", (resource) => node.grant("alice", resource, { ttlMs }));
  const beforeMs = world.elapsedMs();
  await node.grant("alice", "claimed by extend()", { ttlMs: ttlMs / 2 });
  await add("extend()", async (resource) => {
    const { held } = await node.extend("alice", resource, { ttlMs });
    // The claim may have ended only if the machine stalled.
    if (!held)
      expect(world.elapsedMs() - beforeMs, "how long a claim was kept").toBeGreaterThan(ttlMs / 2 - clockGrainMs);
    return held;
  });
  if (world.can("takeover")) {
    await node.grant("alice", "claimed by takeover");
    await add("takeover", (resource) => rival.grant("bob", resource, { takeover: "alice", ttlMs }));
  }
  if (world.can("rejoin")) {
    await add("rejoin", async (resource) => {
      const reply = await node.extend("alice", resource, { rejoin: true, ttlMs });
      return !reply.held && reply.rejoined;
    });
  }
  if (world.can("sharing")) {
    await add("acquire() of a shared claim", (resource) => node.grant("alice", resource, { ...shared, ttlMs }));
    await add("acquire() of a shared claim that joins", async (resource) => {
      await node.grant("bob", resource, { ...shared, ttlMs: ttlMs / 2 });
      await rival.grant("alice", resource, { ...shared, ttlMs });
    });
  }
  if (world.can("severalResources")) {
    await add("acquire() of several", (resource) => node.grant("alice", [resource, `${resource}, too`], { ttlMs }));
    const together = claims.at(-1) as TimedClaim;
    claims.push({ ...together, resource: `${together.resource}, too` });
  }
  return claims;
}

/** Fails if a node reports less remaining time than must be left when its reply arrives. */
function expectRemaining(world: World, told: string, remainingMs: number, claim: TimedClaim, claimTtlMs = ttlMs): void {
  const elapsedMs = world.elapsedMs() - claim.startMs;
  const leastMs = claimTtlMs - elapsedMs - world.remainingGrainMs(elapsedMs);
  if (remainingMs >= leastMs) return;
  const short = claimTtlMs - elapsedMs - remainingMs;
  throw new Error(
    `claims end early: ${shareOf(short, claimTtlMs)} of the ttl that ${claim.how} set (${told} gives ${remainingMs} ms, ` +
      `but ${claimTtlMs} ms were requested at most ${elapsedMs.toFixed(0)} ms ago)`,
  );
}

/** Polls claims until all have ended. Fails if one ends early. */
async function expectWholeTtl(world: World, claims: readonly TimedClaim[]): Promise<void> {
  let left = claims;
  await world.eventually(
    "the claims end",
    async () => {
      const ended = await Promise.all(left.map((claim) => hasEnded(world, claim)));
      left = left.filter((_, index) => !ended[index]);
      const nextEndMs = Math.min(...left.map(({ startMs }) => startMs + ttlMs)) - world.elapsedMs();
      if (left.length > 0) await world.pass(Math.max(looks.leastMs, nextEndMs * looks.share));
      return left.length === 0;
    },
    ttlMs + world.timeoutMs,
  );
}

/** Polls a claim, and returns whether it has ended. Fails if it ended early, or is reported to end early. */
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

/** The facts about how long claims last. */
export const expiryFacts: readonly Fact[] = [
  ...facts({
    // The facts about the end of a claim. Bounds are lower bounds, so that a slow machine does not fail a correct node.
    "a claim lasts for at least its ttl, and then the resource is free": async (world) => {
      // 1: a short ttl is not rounded to 0. 69: a node that counts in hundredths of a second must round up.
      for (const ttlMs of [1, 20, 69]) {
        const resource = `for ${ttlMs} ms`;
        const startMs = world.elapsedMs();
        await world.node.grant("alice", resource, { ttlMs });
        await expectKeptFor(world, resource, ttlMs, startMs);
      }
      if (!world.can("severalResources")) return;
      const startMs = world.elapsedMs();
      await world.node.grant("alice", ["a", "b", "c"], { ttlMs: 40 });
      for (const resource of ["a", "b", "c"]) await expectKeptFor(world, resource, 40, startMs);
    },

    "a claim with a long ttl lasts without an extension": async (world) => {
      await world.node.grant("alice", "r", { ttlMs: longMs });
      await world.leap(longMs - clockGrainMs);
      await world.rival.deny("bob", "r");
    },

    "the expiry of an old claim does not end the next owner's claim": async (world) => {
      await world.node.grant("alice", "r", { ttlMs: 40 });
      await world.node.release("alice", "r");
      await world.rival.grant("bob", "r");
      await world.pass(60);
      await world.rival.hold("bob", "r");
    },

    // The facts about the last few percent of a ttl.
    "a claim lasts for the whole of a ttl of seconds, however it was made": async (world) => {
      await expectWholeTtl(world, await claimInEveryWay(world));
    },

    "the remaining time, if given, is never less than the ttl minus the time since the request": async (world) => {
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
  }),
  ...factsNeeding(["longTtl"], {
    // A 32-bit timer fires at once if it should last for more than 24.8 days.
    "a claim for thirty days is granted and extended, and lasts": async (world) => {
      const { node, rival } = world;
      await node.grant("alice", "r", { ttlMs: thirtyDaysMs });
      await world.pass(momentMs);
      const retryAfterMs = (await rival.deny("bob", "r")) ?? thirtyDaysMs;
      expect(retryAfterMs).toBeGreaterThan(29 * dayMs);
      await node.grant("carol", "extended");
      await node.hold("carol", "extended", { ttlMs: thirtyDaysMs });
      await world.leap(29 * dayMs);
      for (const resource of ["r", "extended"]) await rival.deny("bob", resource);
    },
  }),
];
