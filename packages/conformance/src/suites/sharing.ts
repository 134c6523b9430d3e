import { expect } from "vitest";
import { type Fact, factsNeeding } from "../fact.ts";
import { type Client, freshOwner, shared } from "../world/client.ts";
import { longMs, minuteMs } from "../world/durations.ts";
import { afterExpiry, between, expectKeptFor, type FenceMatcher } from "../world/expectations.ts";
import {
  briefMs,
  type Clients,
  claimWhenFree,
  expireBriefClaims,
  momentMs,
  nextFence,
  whileAlive,
} from "../world/world.ts";
import { holderOf, listedAsHeld } from "./acquire.ts";
import { claimAndReleaseAtOnce, storm } from "./concurrency.ts";

const rejoined = { held: false, rejoined: true };
const notHeld = { held: false, rejoined: false };

/** The likely mistakes behind a wrong reply. */
const mistakes = {
  ignored:
    "shared claims block each other: the node must act on `shared`, or declare that it ignores it with cannot: { sharing: reason }",
  notAlone: "an exclusive claim and a shared one are in force together",
  notFree: "a shared claim that has ended still blocks the resource",
  notKept: "a shared claim was lost when another one was made, changed or ended",
};

/** Claims resources together with others, and returns the fence. */
export function join(
  client: Client,
  owner: string,
  resources: string | readonly string[],
  fenceHint = 1,
): Promise<number> {
  return client.grant(owner, resources, { ...shared, fenceHint }, mistakes.ignored);
}

/** Fails unless a new owner can claim the resource alone, and returns the fence. Frees it again. */
async function claimAlone(rival: Client, resource: string): Promise<number> {
  const owner = freshOwner();
  const fence = await rival.grant(owner, resource, {}, mistakes.notFree);
  await rival.free(owner, resource);
  return fence;
}

/** Fails unless each owner still shares the resource, with this fence. */
async function expectSharers(
  { node, rival }: Clients,
  owners: readonly string[],
  fence: number | FenceMatcher,
): Promise<void> {
  await rival.deny(freshOwner(), "r", {}, mistakes.notAlone);
  for (const owner of owners) expect(await node.hold(owner, "r", shared, mistakes.notKept)).toEqual(fence);
}

const rounds = 20;

/** The facts about shared claims, except those in other suites. */
export const sharingFacts: readonly Fact[] = [
  ...factsNeeding(["sharing"], {
    // The claims that may be in force together, and those that may not.
    "acquire() of a shared claim joins those of other owners, through either client": async (world) => {
      await join(world.node, "alice", "r");
      await join(world.rival, "bob", "r");
      await join(world.node, "carol", "r");
      await expectSharers(world, ["alice", "bob", "carol"], 1);
    },

    "acquire() of a shared claim is denied while another owner holds the resource alone, and changes nothing": async ({
      node,
      rival,
      pass,
    }) => {
      for (const alone of [{}, { shared: false }]) {
        const fence = await node.grant("alice", "r", alone);
        const terms = { ...shared, ttlMs: 1, fenceHint: fence + 1_000 };
        for (const client of [node, rival]) await client.deny("bob", "r", terms, mistakes.notAlone);
        await pass(momentMs);
        expect(await node.hold("alice", "r", alone)).toBe(fence);
        await node.free("alice", "r");
        expect(await nextFence(rival, "r")).toBe(fence + 1);
      }
    },

    "acquire() of an exclusive claim is denied until the last sharer has released, and changes nothing": async (
      world,
    ) => {
      const { node, rival } = world;
      const owners = ["alice", "bob", "carol"];
      for (const owner of owners) await join(node, owner, "r");
      for (const [index, owner] of owners.entries()) {
        for (const alone of [{}, { shared: false }]) {
          await rival.deny("dave", "r", { ...alone, ttlMs: 1, fenceHint: 1_000 }, mistakes.notAlone);
        }
        await world.pass(momentMs);
        await expectSharers(world, owners.slice(index), 1);
        expect(await join(rival, "erin", "r")).toBe(1);
        for (const sharer of ["erin", owner]) await node.free(sharer, "r");
      }
      expect(await rival.grant("dave", "r", {}, mistakes.notFree)).toBe(2);
      await node.deny("alice", "r", shared, mistakes.notAlone);
    },

    // The effects of a request for a shared claim that arrives twice.
    "acquire() of a shared claim resent grants again with the counter, and is still one claim": async (world) => {
      const { node, rival } = world;
      await join(node, "alice", "r", 10);
      expect(await join(rival, "alice", "r", 1_000)).toBe(10);
      await join(node, "bob", "r");
      expect(await join(node, "bob", "r", 1_000)).toBe(10);
      await node.hold("alice", "r", { ...shared, fence: 20 });
      expect(await join(rival, "bob", "r")).toBe(20);
      for (const owner of ["bob", "alice"]) {
        await node.free(owner, "r");
        expect(await rival.release(owner, "r"), "a second release").toBe(false);
      }
      expect(await claimAlone(rival, "r")).toBe(21);
    },

    "acquire() of a shared claim resent neither prolongs nor shortens it": async (world) => {
      await join(world.node, "carol", "kept");
      await world.node.grant("carol", "kept", { ...shared, ttlMs: 1 });
      const { resource } = await whileAlive(world, async (name, ttlMs) => {
        for (const owner of ["alice", "bob"]) await world.node.grant(owner, name, { ...shared, ttlMs });
        for (const owner of ["alice", "bob"]) await world.node.grant(owner, name, { ...shared, ttlMs: longMs });
      });
      await claimWhenFree(world, resource);
      await world.rival.deny("dave", "kept");
    },

    // The counter: it orders exclusive claims among all others, and lets sharers agree on one fence.
    "acquire() of a shared claim advances the counter if it joins nobody, as any grant does": async (world) => {
      const { node, rival } = world;
      expect(await join(node, "alice", "r")).toBe(1);
      await node.free("alice", "r");
      expect(await join(rival, "bob", "r"), "after a shared claim was released").toBe(2);
      await rival.free("bob", "r");
      expect(await nextFence(node, "r"), "an exclusive claim after a shared one").toBe(3);
      expect(await join(node, "carol", "r"), "after an exclusive claim was released").toBe(4);
      await node.free("carol", "r");
      expect(await join(node, "dave", "r", 1_000), "with a higher hint").toBe(1_000);
    },

    "acquire() of a shared claim advances the counter if all earlier sharers have expired": async (world) => {
      await join(world.node, "released", "r");
      await world.node.grant("expired", "r", { ...shared, ttlMs: briefMs });
      await world.node.free("released", "r");
      await expireBriefClaims(world);
      const fence = await join(world.node, "alice", "r");
      expect(fence).toEqual(afterExpiry(2));
      expect(await join(world.rival, "bob", "r")).toBe(fence);
    },

    "acquire() of a shared claim that joins leaves the counter alone, whatever its hint": async ({ node, rival }) => {
      await join(node, "alice", "r", 10);
      expect(await join(rival, "bob", "r", 1_000)).toBe(10);
      expect(await node.hold("alice", "r", shared)).toBe(10);
      await node.free("alice", "r");
      expect(await join(rival, "carol", "r", 1_000), "after the first sharer released").toBe(10);
      for (const owner of ["bob", "carol"]) await node.free(owner, "r");
      expect(await claimAlone(rival, "r")).toBe(11);
    },

    "extend() of one shared claim raises the counter for all sharers, and for all later claims": async (world) => {
      const { node, rival } = world;
      for (const owner of ["alice", "bob"]) await join(node, owner, "r", 10);
      expect(await node.hold("alice", "r", { ...shared, fence: 50 })).toBe(50);
      expect(await rival.hold("bob", "r", { ...shared, fence: 20 })).toBe(50);
      expect(await join(rival, "carol", "r")).toBe(50);
      await node.free("alice", "r");
      expect(await join(rival, "dave", "r"), "the counter after the sharer that raised it released").toBe(50);
      for (const owner of ["bob", "carol", "dave"]) await node.free(owner, "r");
      expect(await claimAlone(rival, "r")).toBe(51);
    },

    // The extension and the release of one of several shared claims.
    "extend() of a shared claim prolongs that claim and no other": async (world) => {
      const { node, rival } = world;
      const { resource, ttlMs } = await whileAlive(world, async (name, ttlMs) => {
        for (const owner of ["alice", "bob"]) await node.grant(owner, name, { ...shared, ttlMs }, mistakes.ignored);
        await node.hold("alice", name, { ...shared, ttlMs: longMs });
        await join(rival, "carol", name);
      });
      await expireBriefClaims(world, ttlMs);
      expect(await node.release("bob", resource), "the claim that was not extended is still there").toBe(false);
      await rival.deny("dave", resource, {}, mistakes.notAlone);
      for (const owner of ["alice", "carol"]) await node.hold(owner, resource, shared, mistakes.notKept);
    },

    "extend() of a shared claim with less than its remaining ttl does not shorten it": async (world) => {
      const { node, rival } = world;
      for (const owner of ["alice", "bob"]) await join(node, owner, "r");
      for (const client of [node, rival]) await client.hold("bob", "r", { ...shared, ttlMs: 1 });
      await world.pass(momentMs);
      await expectSharers(world, ["alice", "bob"], 1);
    },

    "extend() without rejoin of a resource that only others share changes nothing": async ({ node, rival }) => {
      await join(node, "alice", "r");
      for (const terms of [shared, {}]) {
        expect(await rival.extend("bob", "r", { ...terms, fence: 1_000 })).toEqual(notHeld);
      }
      expect(await node.hold("alice", "r", shared)).toBe(1);
      await node.free("alice", "r");
      expect(await claimAlone(rival, "r")).toBe(2);
    },

    "release() of one shared claim leaves the others, and keeps the counter": async ({ node, rival }) => {
      const owners = ["alice", "bob", "carol"];
      for (const owner of owners) await join(node, owner, "r", 10);
      expect(await rival.release("dave", "r"), "a release by an owner without a claim").toBe(false);
      for (const [index, owner] of owners.entries()) {
        await rival.free(owner, "r");
        expect(await rival.extend(owner, "r", shared)).toEqual(notHeld);
        const left = owners.slice(index + 1);
        if (left.length > 0) await expectSharers({ node, rival }, left, 10);
      }
      expect(await claimAlone(rival, "r")).toBe(11);
    },

    // How long shared claims last: each for its own ttl.
    "shared claims last until the last of them ends, and then the resource is free": async (world) => {
      for (const [index, ttls] of [[20], [60], [60, 20, 40], [20, 60], [60, 60, 20]].entries()) {
        const [resource, longestMs] = [`shared ${index}`, Math.max(...ttls)];
        let startMs = 0;
        for (const [owner, ttlMs] of ttls.entries()) {
          if (ttlMs === longestMs) startMs = world.elapsedMs();
          await world.node.grant(`owner ${owner}`, resource, { ...shared, ttlMs }, mistakes.ignored);
        }
        await expectKeptFor(world, resource, longestMs, startMs);
      }
    },

    "a shared claim that has expired counts no longer, while another one lasts": async (world) => {
      const { node, rival } = world;
      await join(node, "alice", "r");
      for (const owner of ["bob", "carol"]) {
        await node.grant(owner, "r", { ...shared, ttlMs: briefMs }, mistakes.ignored);
      }
      await expireBriefClaims(world);
      expect(await node.extend("bob", "r", { ...shared, fence: 1_000 })).toEqual(notHeld);
      expect(await rival.release("bob", "r")).toBe(false);
      await expectSharers(world, ["alice"], afterExpiry(1));
      expect(await join(rival, "carol", "r", 1_000), "joining again").toEqual(afterExpiry(1));
      await node.free("alice", "r");
      await expectSharers(world, ["carol"], afterExpiry(1));
      await node.free("carol", "r");
      expect(await claimAlone(rival, "r")).toEqual(afterExpiry(2));
    },

    "a shared claim outlasts a shorter one that joins, is extended, expires or is released": async (world) => {
      const { node, rival } = world;
      await join(node, "alice", "r");
      for (const owner of ["expired", "extended", "released"]) {
        await rival.grant(owner, "r", { ...shared, ttlMs: owner === "released" ? longMs : briefMs }, mistakes.ignored);
        // Unless a slow machine let it expire.
        if (owner === "extended") await rival.extend(owner, "r", { ...shared, ttlMs: 1 });
        if (owner === "released") await rival.free(owner, "r");
        else await expireBriefClaims(world);
        await expectSharers(world, ["alice"], afterExpiry(1, 2));
      }
    },

    "a resource is free when its last shared claim ends, although a longer one was released": async (world) => {
      const { resource } = await whileAlive(world, async (name, ttlMs) => {
        await world.node.grant("alice", name, { ...shared, ttlMs });
        await join(world.rival, "bob", name);
        await world.rival.free("bob", name);
        await world.rival.deny("carol", name, {}, mistakes.notAlone);
      });
      await claimWhenFree(world, resource);
    },

    "acquire() with takeover of a shared claim joins sharers that it does not replace": async (world) => {
      await join(world.node, "alice", "r");
      expect(await world.rival.grant("bob", "r", { ...shared, takeover: "carol" }, mistakes.ignored)).toBe(1);
      await expectSharers(world, ["alice", "bob"], 1);
      const { node } = world;
      await node.grant("alone", "other");
      await node.deny("bob", "other", { ...shared, takeover: "carol" }, mistakes.notAlone);
    },

    // Calls that arrive at the same time.
    "acquire() grants all of many shared claims sent at once, with one fence": async ({ node, rival, times }) => {
      for (let round = 1; round <= times(rounds); round++) {
        const owners = Array.from({ length: round === 1 ? 100 : 20 }, freshOwner);
        const fences = await Promise.all(
          owners.map((owner, index) => join(index % 2 === 0 ? node : rival, owner, "r")),
        );
        expect(new Set(fences)).toEqual(new Set([round]));
        await Promise.all(owners.map((owner, index) => (index % 2 === 0 ? rival : node).free(owner, "r")));
      }
    },

    "acquire() grants one exclusive claim or only shared ones of many sent at once": async ({ node, rival, times }) => {
      for (let round = 0; round < times(rounds); round++) {
        const sent = Array.from({ length: 20 }, (_, index) => {
          const [owner, client] = [freshOwner(), index % 2 === 0 ? node : rival];
          const isShared = (index + round) % 3 > 0;
          return client.acquire(owner, "r", { shared: isShared }).then(({ granted }) => ({ owner, isShared, granted }));
        });
        const winners = (await Promise.all(sent)).filter(({ granted }) => granted);
        expect(winners.length).toBeGreaterThan(0);
        if (winners.some(({ isShared }) => !isShared)) expect(winners, mistakes.notAlone).toHaveLength(1);
        await Promise.all(winners.map(({ owner }) => node.free(owner, "r")));
      }
    },

    "acquire() and release() exclude concurrent writers from all others, and keep fences in order": (world) =>
      storm(
        world,
        Array.from({ length: 8 }, () => ["r"]),
        (turn) => turn % 3 > 0,
      ),

    "acquire() and release() of one sharer sent at once take effect in either order, as their replies say": async (
      world,
    ) => {
      await join(world.rival, "another sharer", "r");
      await claimAndReleaseAtOnce(world, shared, mistakes.ignored);
      await world.rival.hold("another sharer", "r", shared, mistakes.notKept);
    },
  }),
  ...factsNeeding(["sharing", "severalResources"], {
    "acquire() of a shared claim on several resources denies and changes nothing while any is held alone": async ({
      node,
      rival,
    }) => {
      for (const taken of ["a", "b", "c"]) {
        const [name, others] = [`${taken}, alone`, ["a", "b", "c"].filter((each) => each !== taken)];
        const own = await node.grant("alice", name, { fenceHint: 10 });
        const fence = await join(node, "carol", others[0] as string, 10);
        await rival.deny("bob", [name, ...others], { ...shared, fenceHint: 1_000 }, mistakes.notAlone);
        expect(await node.hold("alice", name)).toEqual(between(own, fence));
        expect(await node.hold("carol", others[0] as string, shared)).toBe(fence);
        await node.free("carol", others[0] as string);
        expect(await claimAlone(rival, others[0] as string)).toBe(fence + 1);
        await claimAlone(rival, others[1] as string);
        await node.free("alice", name);
      }
    },

    "acquire() of an exclusive claim on several resources denies and changes nothing while any is shared": async ({
      node,
      rival,
    }) => {
      for (const taken of ["a", "b", "c"]) {
        const names = ["a", "b", "c"].map((name) => `${name}, ${taken} is shared`);
        const held = `${taken}, ${taken} is shared`;
        await join(node, "alice", held, 10);
        await rival.deny("bob", names, { fenceHint: 1_000 }, mistakes.notAlone);
        for (const free of names.filter((name) => name !== held)) {
          expect(await claimAlone(rival, free)).toEqual(between(1, 18));
        }
        expect(await node.hold("alice", held, shared)).toEqual(between(10, 18));
      }
    },

    "acquire() that joins sharers on every one of several resources sets each counter to the highest": async ({
      node,
      rival,
    }) => {
      const counts = { a: 10, b: 30, c: 20 };
      for (const [resource, fence] of Object.entries(counts))
        await join(node, `sharer of ${resource}`, resource, fence);
      const fence = await join(rival, "alice", ["a", "b", "c"], 1_000);
      expect(fence).toEqual(between(30, 31));
      for (const resource of ["a", "b", "c"]) {
        expect(await node.hold(`sharer of ${resource}`, resource, shared), `the counter of ${resource}`).toBe(fence);
      }
    },

    "acquire() of several resources is uniform only if they have one counter, also when it is resent": async (
      world,
    ) => {
      const { node, rival } = world;
      const fence = await node.grant("alice", ["r", "s"], shared);
      await rival.grant("bob", "s", shared);
      await rival.hold("bob", "s", { ...shared, fence: fence + 50 });
      const resent = await node.acquire("alice", ["r", "s"], shared);
      expect(resent).toMatchObject({ granted: true, fence: fence + 50 });
      const ofOne = await rival.grant("carol", "r", shared);
      const mistake = "a repeated grant is called uniform, though only some of the counters have its fence";
      expect("uniform" in resent && resent.uniform === true && ofOne !== fence + 50, mistake).toBe(false);
    },

    "acquire() that joins sharers on only some of several resources advances the counter of each": async (world) => {
      const { node, rival } = world;
      for (const free of ["a", "b", "c"]) {
        const names = ["a", "b", "c"].map((name) => `${name}, ${free} is free`);
        const joined = names.filter((name) => !name.startsWith(free));
        for (const name of joined) await join(node, "alice", name, 10);
        const fence = await join(rival, "bob", names);
        expect(fence).toEqual(between(11, 18));
        for (const name of joined) expect(await node.hold("alice", name, shared), `counter of ${name}`).toBe(fence);
        expect(await join(rival, "bob", names, 1_000), "sent again").toBe(fence);
      }
    },

    "extend() of shared claims on several resources raises each counter, and needs a claim on each": async (world) => {
      const { node, rival } = world;
      await join(node, "alice", ["a", "b"], 10);
      await join(rival, "bob", "b");
      expect(await node.hold("alice", ["a", "b"], { ...shared, fence: 50 })).toBe(50);
      expect(await rival.hold("bob", "b", shared)).toBe(50);
      expect(await rival.extend("bob", ["a", "b"], { ...shared, fence: 1_000 })).toEqual(notHeld);
      expect(await node.hold("alice", ["a", "b"], shared)).toBe(50);
    },

    "release() of several resources ends the owner's claims, and leaves the other sharers of each": async (world) => {
      const { node, rival } = world;
      await join(node, "alice", ["a", "b"]);
      await join(rival, "bob", "b");
      await rival.grant("bob", "c");
      await node.free("alice", ["a", "b", "c"]);
      await claimAlone(rival, "a");
      for (const resource of ["b", "c"]) await node.deny("carol", resource, {}, mistakes.notKept);
      await rival.free("bob", ["a", "b", "c"]);
      for (const resource of ["b", "c"]) await claimAlone(rival, resource);
      await join(node, "alice", ["a", "b"]);
      await node.free("alice", "a");
      await rival.deny("carol", "b", {}, mistakes.notKept);
    },
  }),
  ...factsNeeding(["sharing", "rejoin"], {
    // Shared claims that come back after the node lost them, or after they expired.
    "extend() with rejoin of a shared claim joins the sharers, and raises the counter no further than its fence":
      async ({ node, rival }) => {
        await join(node, "alice", "r", 10);
        const terms = { ...shared, fence: 5, rejoin: true };
        expect(await rival.extend("bob", "r", terms)).toEqual(rejoined);
        expect(await node.extend("bob", "r", terms), "sent again").toEqual({ held: true, fence: 10 });
        await expectSharers({ node, rival }, ["alice", "bob"], 10);
        expect(await rival.extend("carol", "r", { ...shared, fence: 50, rejoin: true })).toEqual(rejoined);
        await expectSharers({ node, rival }, ["alice", "bob", "carol"], 50);
        for (const owner of ["alice", "carol", "bob"]) await node.free(owner, "r");
        expect(await claimAlone(rival, "r")).toBe(51);
      },

    "extend() with rejoin of a shared claim advances the counter if it joins nobody, and others can join it": async ({
      node,
      rival,
    }) => {
      await join(node, "alice", "r", 10);
      await node.free("alice", "r");
      expect(await node.extend("alice", "r", { ...shared, fence: 10, rejoin: true })).toEqual(rejoined);
      expect(await join(rival, "bob", "r")).toBe(11);
      await expectSharers({ node, rival }, ["alice", "bob"], 11);
    },

    "extend() with rejoin changes nothing while another owner holds the resource and either claim is exclusive":
      async ({ node, rival }) => {
        await node.grant("alice", "r");
        expect(await rival.extend("bob", "r", { ...shared, fence: 1_000, rejoin: true })).toEqual(notHeld);
        expect(await node.hold("alice", "r")).toBe(1);
        await node.free("alice", "r");
        await join(node, "carol", "r");
        expect(await rival.extend("bob", "r", { fence: 1_000, rejoin: true }), mistakes.notAlone).toEqual(notHeld);
        await expectSharers({ node, rival }, ["carol"], 2);
      },
  }),
  ...factsNeeding(["sharing", "rejoin", "severalResources"], {
    "extend() with rejoin of a shared claim that joins on only some of several resources advances each counter":
      async ({ node, rival }) => {
        await join(node, "alice", "b", 10);
        const terms = { ...shared, fence: 5, rejoin: true };
        expect(await rival.extend("bob", ["a", "b"], terms)).toEqual(rejoined);
        expect(await node.hold("alice", "b", shared)).toBe(11);
        expect(await rival.hold("bob", ["a", "b"], shared)).toBe(11);
        await join(node, "alice", "a");
        expect(await rival.extend("carol", ["a", "b"], terms)).toEqual(rejoined);
        expect(await node.hold("alice", ["a", "b"], shared), "after it joined on both").toBe(11);
      },

    "extend() with rejoin of shared claims on several resources joins other owners only, and not the owner's own claim":
      async ({ node, rival }) => {
        await join(node, "alice", ["a", "b"], 10);
        await join(rival, "bob", "b");
        await node.free("alice", "b");
        expect(await node.extend("alice", ["a", "b"], { ...shared, fence: 5, rejoin: true })).toEqual(rejoined);
        expect(await rival.hold("bob", "b", shared)).toBe(11);
        expect(await node.hold("alice", "a", shared)).toBe(11);
      },
  }),
  ...factsNeeding(["sharing", "takeover"], {
    // Hand-overs from and to shared claims.
    "acquire() with takeover of an exclusive claim is denied and changes nothing while another owner shares": async ({
      node,
      rival,
    }) => {
      for (const owner of ["alice", "bob"]) await join(node, owner, "r");
      for (const takeover of ["alice", "bob", "dave"]) {
        await rival.deny("carol", "r", { takeover, fenceHint: 1_000 }, mistakes.notAlone);
      }
      await expectSharers({ node, rival }, ["alice", "bob"], 1);
      await node.free("bob", "r");
      const mistake = "a takeover does not look for the old owner among the sharers";
      expect(await rival.grant("carol", "r", { takeover: "alice" }, mistake), mistake).toBe(2);
      await rival.deny("dave", "r", shared, mistakes.notAlone);
      expect(await node.extend("alice", "r", shared)).toEqual(notHeld);
    },

    "acquire() with takeover makes an exclusive claim shared, and advances the counter": async ({ node, rival }) => {
      const fence = await node.grant("alice", "r", { fenceHint: 10 });
      expect(await node.grant("bob", "r", { ...shared, takeover: "alice" })).toBe(fence + 1);
      expect(await join(rival, "carol", "r")).toBe(fence + 1);
      expect(await node.release("alice", "r")).toBe(false);
      await expectSharers({ node, rival }, ["bob", "carol"], fence + 1);
    },

    "acquire() with takeover passes one of several shared claims on, and leaves the counter and the others alone":
      async ({ node, rival }) => {
        for (const owner of ["alice", "bob"]) await join(node, owner, "r", 10);
        expect(await rival.grant("carol", "r", { ...shared, takeover: "alice", fenceHint: 1_000 })).toBe(10);
        expect(await node.extend("alice", "r", shared)).toEqual(notHeld);
        expect(await node.release("alice", "r")).toBe(false);
        await expectSharers({ node, rival }, ["bob", "carol"], 10);
        for (const owner of ["bob", "carol"]) await node.free(owner, "r");
        expect(await claimAlone(rival, "r")).toBe(11);
      },

    "acquire() with takeover passes the only shared claim on to a sharer, and never lowers the counter": async ({
      node,
      rival,
    }) => {
      await join(node, "alice", "r", 10);
      const fence = await rival.grant("bob", "r", { ...shared, takeover: "alice" });
      // The claim that it replaces may or may not count as one that it joins.
      expect([10, 11]).toContain(fence);
      expect(await node.extend("alice", "r", shared)).toEqual(notHeld);
      await expectSharers({ node, rival }, ["bob"], fence);
      await node.free("bob", "r");
      expect(await claimAlone(rival, "r")).toBe(fence + 1);
    },
  }),
  ...factsNeeding(["sharing", "takeover", "severalResources"], {
    "acquire() with takeover of several resources is denied while another owner shares any of them": async (world) => {
      const { node, rival } = world;
      await node.grant("alice", "a");
      for (const owner of ["alice", "bob"]) await join(node, owner, "b");
      await rival.deny("carol", ["a", "b"], { takeover: "alice", fenceHint: 1_000 }, mistakes.notAlone);
      expect(await node.hold("alice", "a")).toEqual(between(1, 2));
      expect(await node.hold("alice", "b", shared)).toEqual(between(1, 2));
      await node.free("bob", "b");
      expect(await rival.grant("carol", ["a", "b"], { takeover: "alice" })).toEqual(between(2, 3));
    },
  }),
  ...factsNeeding(["sharing", "exactTtl"], {
    // The hints of a denial. A node may omit each of them.
    "acquire() denied by sharers gives the wait for the one that lasts longest and its owner, if it gives any": async (
      world,
    ) => {
      const { node, rival } = world;
      await node.grant("alice", "r", { ...shared, ttlMs: 20 * minuteMs });
      await node.grant("bob", "r", { ...shared, ttlMs: 60 * minuteMs }, mistakes.ignored);
      await node.grant("carol", "r", { ...shared, ttlMs: minuteMs }, mistakes.ignored);
      if (world.can("takeover")) {
        const reply = await rival.acquire("dave", "r", { takeover: "bob" });
        expect(["alice", undefined], "the holder, beside the one that may be taken over").toContain(holderOf(reply));
      }
      const lasting = [
        ["bob", 60, 20],
        ["alice", 20, 1],
        ["carol", 1, 0],
      ] as const;
      for (const [owner, minutes, moreThan] of lasting) {
        const retryAfterMs = (await rival.deny("dave", "r")) ?? minutes * minuteMs;
        expect(retryAfterMs).toBeGreaterThan(moreThan * minuteMs);
        expect(retryAfterMs).toBeLessThanOrEqual(minutes * minuteMs);
        const reply = await rival.acquire("dave", "r");
        expect([owner, undefined]).toContain(holderOf(reply));
        expect(["r"]).toEqual(expect.arrayContaining([...listedAsHeld(reply)]));
        await node.free(owner, "r");
      }
    },
  }),
];
