import type { ScannedClaim } from "@holdfast/core/node";
import { expect } from "vitest";
import { type Fact, factsNeeding } from "../fact.ts";
import { type Client, freshOwner, shared } from "../world/client.ts";
import { longMs, minuteMs } from "../world/durations.ts";
import { between, oneOf } from "../world/expectations.ts";
import {
  briefMs,
  type Clients,
  claimAndExpire,
  claimWhenFree,
  expireBriefClaims,
  nextFence,
  type World,
  whileAlive,
} from "../world/world.ts";
import { expectRejections } from "./malformed.ts";
import { unusualNames } from "./names.ts";
import { claimMany, each, numbered } from "./sizes.ts";

/** How many counters a portion may read. Reading more of them takes longer than a few locks. */
const portionMax = 2_000;

/** The likely mistakes behind a wrong reply. */
const mistakes = {
  missed: "scan() misses claims or counters",
  extra: "scan() reports claims that have ended, or that nobody has made",
  higher: "scan() reads a counter that is higher than all fences and the floor",
  changed: "scan() changes what it reads",
  large: "scan() reads too much in one portion, and delays locks",
  cursor: "scan() accepts a cursor that it did not make, and misses what comes before",
  repeated: "a cursor works only once: a portion whose reply is lost is missed",
};

/** Returns the resources and owners of claims, in order, without the witness that a claim has expired. */
function holdersOf(claims: readonly ScannedClaim[]): readonly string[] {
  const own = claims.filter(({ resource }) => !resource.startsWith("witness "));
  return own.map(({ resource, owner }) => `${resource}: ${owner}`).sort();
}

/** Fails unless exactly these claims are in force on the node, whichever client reads them. */
async function expectClaims({ node, rival }: Clients, expected: readonly string[]): Promise<void> {
  for (const client of [node, rival]) {
    const holders = holdersOf((await client.scan()).claims);
    for (const claim of expected) expect(holders, mistakes.missed).toContain(claim);
    expect(holders, mistakes.extra).toEqual([...expected].sort());
  }
}

/** Fails unless the node has this highest counter, whichever client reads it. */
async function expectHighest({ node, rival }: Clients, highest: number, most = highest): Promise<void> {
  for (const client of [node, rival]) {
    const scanned = await client.scan();
    const mistake = scanned.highest > most ? mistakes.higher : mistakes.missed;
    expect(scanned.highest, mistake).toEqual(between(highest, most));
  }
}

/** More counters than a portion may read. */
const manyCounters = 2_500;

/** Claims thousands of resources, and returns them by owner. */
async function claimByOwner(world: World): Promise<ReadonlyMap<string, readonly string[]>> {
  const { groups } = await claimMany(world, "counter", manyCounters);
  return new Map(groups.map(({ owner, names }) => [owner, names]));
}

/**
 * Reads a series in which every portion is read twice, as by a caller that lost the first reply, and returns the claimed
 * resources.
 */
async function scanRepeatedly(client: Client): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (let cursor: string | undefined; ; ) {
    const lost = await client.scanPortion(cursor);
    // The portion after the lost one, which a caller that has it may have read already.
    if (lost.cursor !== undefined && cursor !== undefined) await client.scanPortion(lost.cursor);
    const portion = cursor === undefined ? lost : await client.scanPortion(cursor);
    for (const { resource } of portion.claims) found.add(resource);
    if (portion.cursor === undefined) return found;
    cursor = portion.cursor;
  }
}

/** The facts about what {@link FenceFloor.scan} reads, if the node offers it. */
export const scanFacts: readonly Fact[] = [
  ...factsNeeding(["floor"], {
    // What a series reads while nothing changes.
    "scan() of a fresh node reads no counter and no claim": async (world) => {
      for (const client of [world.node, world.rival]) {
        expect(await client.scan()).toMatchObject({ counters: 0, highest: 0, claims: [] });
      }
    },

    "scan() reads each counter, whether its claim is in force, released or expired": async (world) => {
      const { node, rival } = world;
      await node.grant("alice", "held", { fenceHint: 10 });
      await expectHighest(world, 10);
      await rival.grant("bob", "released", { fenceHint: 30 });
      await rival.free("bob", "released");
      await expectHighest(world, 30);
      await claimAndExpire(world, "carol", "expired", { fenceHint: 70 });
      await expectHighest(world, 70, 72);
      await node.hold("alice", "held", { fence: 1_000_000_000_007 });
      await expectHighest(world, 1_000_000_000_007);
      await node.free("alice", "held");
      await expectHighest(world, 1_000_000_000_007);
    },

    "scan() reads no counter above the floor if no fence is above it": async ({ node, rival }) => {
      await node.raiseFloor({ floor: 100, epoch: 200 });
      for (const client of [node, rival]) {
        const { highest, claims } = await client.scan();
        expect({ highest, claims }, mistakes.higher).toEqual({ highest: oneOf(0, 100), claims: [] });
      }
      const fence = await rival.grant("alice", "r", { epoch: 200 });
      await expectHighest({ node, rival }, fence);
      await node.raiseFloor({ floor: 1_000 });
      for (const client of [node, rival]) {
        expect((await client.scan()).highest, mistakes.higher).toEqual(oneOf(fence, 1_000));
      }
    },

    "scan() without claims reads the counters, and may leave claims out": async (world) => {
      await world.node.grant("alice", "held", { fenceHint: 10 });
      await nextFence(world.rival, "released");
      for (const client of [world.node, world.rival]) {
        const { highest, claims } = await client.scan({ claims: false });
        expect(highest, mistakes.missed).toEqual(between(10, 11));
        expect([[], ["held: alice"]], mistakes.extra).toContainEqual(holdersOf(claims));
      }
    },

    "scan() reads each claim in force with its owner and its remaining time": async (world) => {
      const { node, rival } = world;
      for (const resources of world.can("severalResources") ? [["a", "c"]] : ["a", "c"]) {
        await node.grant("alice:1", resources, { ttlMs: 20 * minuteMs });
      }
      await rival.grant("bob", "b", { ttlMs: minuteMs });
      for (const client of [node, rival]) {
        const { claims } = await client.scan();
        expect(holdersOf(claims), mistakes.missed).toEqual(["a: alice:1", "b: bob", "c: alice:1"]);
        for (const { resource, remainingMs } of claims) {
          const ttlMs = (resource === "b" ? 1 : 20) * minuteMs;
          expect(remainingMs, resource).toBeGreaterThan(ttlMs / 2);
          if (world.endsExactly) expect(remainingMs, resource).toBeLessThanOrEqual(ttlMs);
        }
      }
      await node.hold("bob", "b", { ttlMs: 60 * minuteMs });
      await rival.free("alice:1", "a");
      const [extended, kept] = (await rival.scan()).claims;
      expect(extended?.remainingMs).toBeGreaterThan(30 * minuteMs);
      expect(kept, mistakes.missed).toMatchObject({ resource: "c", owner: "alice:1" });
    },

    "scan() reads no claim that was released or has expired": async (world) => {
      const { node, rival } = world;
      for (const resource of ["kept", "released", "claimed again"]) await node.grant("alice", resource);
      await claimAndExpire(world, "alice", "expired");
      await rival.free("alice", "released");
      await node.free("alice", "claimed again");
      await rival.grant("bob", "claimed again");
      await expectClaims(world, ["claimed again: bob", "kept: alice"]);
      if (!world.can("takeover")) return;
      await rival.grant("carol", "kept", { takeover: "alice" });
      await expectClaims(world, ["claimed again: bob", "kept: carol"]);
    },

    "scan() reads names and owners exactly as they were given": async (world) => {
      const { node, rival } = world.bare;
      // Short enough to be a part of an owner, too.
      const names = unusualNames(world).filter(({ length }) => length <= 300);
      await each(names, (name) => node.grant(`owner of ${name}`, name));
      const expected = names.map((name) => `${name}: owner of ${name}`).sort();
      for (const client of [node, rival]) expect(holdersOf((await client.scan()).claims)).toEqual(expected);
    },

    "scan() changes neither claims nor counters, nor the floor": async ({ node, rival }) => {
      await node.grant("alice", "held", { fenceHint: 10 });
      const free = await nextFence(node, "free");
      const held = await rival.hold("alice", "held");
      for (const client of [node, rival, node]) await client.scan();
      expect(await rival.hold("alice", "held", {}, mistakes.changed), mistakes.changed).toBe(held);
      expect(await node.raiseFloor(), mistakes.changed).toEqual({ floor: between(0, free), epoch: 0 });
      expect(await nextFence(rival, "free"), mistakes.changed).toBe(free + 1);
      expect(await nextFence(node, "never claimed"), mistakes.changed).toEqual(between(1, free + 2));
    },

    "scan() does not prolong claims": async (world) => {
      const { resource } = await whileAlive(world, async (name, ttlMs) => {
        await world.node.grant("alice", name, { ttlMs });
        expect(holdersOf((await world.rival.scan()).claims)).toContain(`${name}: alice`);
      });
      await claimWhenFree(world, resource);
    },

    "scan() rejects a cursor that it did not make, and changes nothing": async (world) => {
      const { node, rival, timeoutMs } = world;
      await node.grant("alice", "r");
      const flaws = ["", 42, null, {}, "not a cursor", "r", "🔒", "\0"].map((cursor) => ({ cursor }));
      const scan = async (request: object) => node.node.scan?.(request as never);
      await expectRejections("scan()", scan, { timeoutMs }, flaws).catch((error) => {
        throw Object.assign(error, { message: `${mistakes.cursor}: ${error.message}` });
      });
      expect(await rival.hold("alice", "r")).toBe(1);
    },

    // Series of several portions.
    "scan() reads thousands of counters and claims, in portions of bounded size": async (world) => {
      const { node, rival } = world;
      const claimed = await claimByOwner(world);
      const names = [...claimed.values()].flat();
      const highest = 1_000 + claimed.size - 1;
      // Two callers at once, as two operators may be at work.
      for (const scanned of await Promise.all([node.scan(), rival.scan()])) {
        expect(scanned.highest, mistakes.missed).toEqual(between(highest, highest + claimed.size));
        expect(scanned.claims.length, mistakes.missed).toBe(names.length);
        expect(scanned.claims.map(({ resource }) => resource).sort(), mistakes.missed).toEqual(names);
        for (const portion of scanned.portions) {
          expect(portion.counters, mistakes.large).toBeLessThanOrEqual(portionMax);
          expect(portion.claims.length, mistakes.large).toBeLessThanOrEqual(portionMax);
        }
      }
      const half = [...claimed].slice(0, claimed.size / 2);
      await each(half, ([owner, group]) => node.free(owner, group));
      const rest = [...claimed].slice(half.length).flatMap(([, group]) => group);
      const scanned = await rival.scan();
      expect(scanned.claims.map(({ resource }) => resource).sort(), mistakes.extra).toEqual(rest);
      expect(scanned.highest, mistakes.missed).toEqual(between(highest, highest + claimed.size));
    },

    "scan() reads a portion again with the same cursor, and misses nothing": async (world) => {
      const names = [...(await claimByOwner(world)).values()].flat();
      await world.rival.scan();
      expect([...(await scanRepeatedly(world.rival))].sort(), mistakes.repeated).toEqual(names);
    },

    "scan() reads everything that lasts while other resources are claimed and released": async ({ node, rival }) => {
      const lasting = numbered("lasting", 200);
      const claimLasting = (name: string) => node.grant("alice", name);
      await each(lasting.slice(0, 100), claimLasting);
      const ended = numbered("ended", 200);
      await each(ended, (name) => nextFence(rival, name));
      await each(lasting.slice(100), claimLasting);
      let isOver = false;
      const churn = async (client: Client, worker: number): Promise<void> => {
        for (let turn = 0; !isOver; turn++) {
          await nextFence(client, ended[(2 * turn + worker) % ended.length] as string);
          await nextFence(client, `new ${worker}.${turn}`);
        }
      };
      const read = async (): Promise<void> => {
        for (let round = 1; round <= 5; round++) {
          const highest = 1_000_000 * round;
          await node.hold("alice", lasting[(round * 37) % lasting.length] as string, { fence: highest });
          const scanned = await (round % 2 === 0 ? node : rival).scan();
          expect(scanned.highest, mistakes.missed).toEqual(between(highest, highest + 999_999));
          const found = scanned.claims.filter(({ owner }) => owner === "alice").map(({ resource }) => resource);
          expect(found.sort(), mistakes.missed).toEqual(lasting);
        }
      };
      const reading = read().finally(() => {
        isOver = true;
      });
      await Promise.all([reading, churn(node, 1), churn(rival, 2)]);
    },

    "scan() reads what lasts, while resources are claimed, extended and released between its portions": async (
      world,
    ) => {
      const { node, rival } = world;
      const groups = [...(await claimByOwner(world))];
      const lasting = groups.filter((_, index) => index % 2 === 0);
      const left = { lasting: [...lasting], changing: groups.filter((_, index) => index % 2 === 1) };
      const part = Math.ceil(groups.length / 20);
      const found = new Set<string>();
      let portions = 0;
      for (let cursor: string | undefined; ; portions++) {
        const portion = await rival.scanPortion(cursor);
        for (const { resource } of portion.claims) found.add(resource);
        if (portion.cursor === undefined) break;
        cursor = portion.cursor;
        const extend = ([owner, names]: (typeof groups)[0]) => node.hold(owner, names, { ttlMs: 2 * longMs });
        await each(left.lasting.splice(0, part), extend);
        await each(left.changing.splice(0, part), ([owner, names]) => node.free(owner, names));
        await each(numbered(`new ${portions}`, 20), (name) => node.grant(freshOwner(), name));
        expect(portions, "the series ends although resources are added").toBeLessThan(1_000);
      }
      const missed = lasting.flatMap(([, names]) => names).filter((name) => !found.has(name));
      expect(missed, mistakes.missed).toEqual([]);
    },
  }),
  ...factsNeeding(["floor", "sharing"], {
    "scan() reads the claim of every sharer with its own remaining time, and no ended one": async (world) => {
      const { node, rival } = world;
      for (const [owner, minutes] of [["alice", 20] as const, ["bob", 60] as const, ["carol", 1] as const]) {
        await node.grant(owner, "r", { ...shared, ttlMs: minutes * minuteMs, fenceHint: 10 });
      }
      await rival.grant("dave", "r", { ...shared, ttlMs: briefMs });
      await rival.grant("erin", "r", shared);
      await expireBriefClaims(world);
      await rival.free("erin", "r");
      for (const client of [node, rival]) {
        const claims = (await client.scan()).claims.filter(({ resource }) => resource === "r");
        expect(holdersOf(claims)).toEqual(["r: alice", "r: bob", "r: carol"]);
        const [alice, bob, carol] = claims.map(({ remainingMs }) => remainingMs / minuteMs);
        expect(alice).toBeGreaterThan(10);
        expect(bob).toBeGreaterThan(30);
        expect(carol).toBeGreaterThan(0);
        if (world.endsExactly)
          expect([alice, bob, carol].map((minutes) => Math.ceil(minutes as number))).toEqual([20, 60, 1]);
      }
    },

    "scan() reads the claims of all of two hundred sharers": async (world) => {
      const owners = numbered("owner", 200);
      await each(owners, (owner) => world.node.grant(owner, "r", shared));
      await expectClaims(
        world,
        owners.map((owner) => `r: ${owner}`),
      );
    },
  }),
];
