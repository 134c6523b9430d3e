import { expect } from "vitest";
import { type Fact, factsNeeding } from "../fact.ts";
import { shared } from "../world/client.ts";
import { minuteMs } from "../world/durations.ts";
import { afterExpiry, between } from "../world/expectations.ts";
import { briefMs, claimAndExpire, claimWhenFree, expireBriefClaims, nextFence, whileAlive } from "../world/world.ts";

/** The facts about {@link LockNode.inspect}, if the node offers it. */
export const inspectFacts: readonly Fact[] = [
  ...factsNeeding(["inspect"], {
    "inspect() returns the owner, the remaining time and the fence to either client, also after an extension": async (
      world,
    ) => {
      const { node, rival, endsExactly } = world;
      const expectView = async (fence: number, moreThanMs: number, ttlMs: number): Promise<void> => {
        for (const client of [node, rival]) {
          const view = await client.inspect("r");
          expect(view).toMatchObject({ owner: "alice:1", fence });
          expect(view.remainingMs).toBeGreaterThan(moreThanMs);
          if (endsExactly) expect(view.remainingMs).toBeLessThanOrEqual(ttlMs);
        }
      };
      await expectView(await node.grant("alice:1", "r", { ttlMs: minuteMs, fenceHint: 10 }), 0, minuteMs);
      await node.hold("alice:1", "r", { ttlMs: 60 * minuteMs, fence: 1_000 });
      await expectView(1_000, minuteMs, 60 * minuteMs);
      const before = (await rival.inspect("r")).remainingMs as number;
      await world.pass(50);
      await expectView(1_000, minuteMs, endsExactly ? before - 1 : before);
      if (!world.can("takeover")) return;
      const fence = await node.grant("bob", "r", { takeover: "alice:1" });
      expect(await rival.inspect("r")).toMatchObject({ owner: "bob", fence });
    },

    "inspect() of a free resource returns no owner and the last fence": async (world) => {
      const { node, rival } = world;
      for (const client of [node, rival]) {
        expect(await client.inspect("never claimed")).toEqual({ owner: null, remainingMs: null, fence: 0 });
      }
      const fence = await node.grant("alice", "r", { fenceHint: 1_000 });
      await node.release("alice", "r");
      for (const client of [node, rival]) {
        expect(await client.inspect("r")).toEqual({ owner: null, remainingMs: null, fence });
      }
      const expired = await claimAndExpire(world, "bob", "r");
      expect(await node.inspect("r")).toEqual({ owner: null, remainingMs: null, fence: afterExpiry(expired) });
    },

    "inspect() changes neither claim nor counter, and does not prolong the claim": async (world) => {
      const { node, rival } = world;
      // A node that does not share claims treats both alike.
      for (const [index, mode] of [{}, shared].entries()) {
        const name = `r${index}`;
        await node.inspect(name);
        const fence = await node.grant("alice", name, mode);
        expect(fence).toEqual(between(1, 1 + 4 * index));
        for (const client of [node, rival, node]) await client.inspect(name);
        expect(await node.hold("alice", name, mode)).toBe(fence);
        await node.release("alice", name);
        await rival.inspect(name);
        expect(await nextFence(rival, name)).toBe(fence + 1);
        const { resource } = await whileAlive(world, async (alive, ttlMs) => {
          await node.grant("alice", `${alive}, ${index}`, { ...mode, ttlMs });
          expect(await rival.inspect(`${alive}, ${index}`)).toMatchObject({ owner: "alice" });
        });
        await claimWhenFree(world, `${resource}, ${index}`);
      }
    },
  }),
  ...factsNeeding(["inspect", "sharing", "exactTtl"], {
    "inspect() lists the sharers and their remaining times, and names the one that lasts longest as the owner": async ({
      node,
      rival,
    }) => {
      const minutes = { alice: 20, bob: 60, carol: 1 };
      for (const [owner, each] of Object.entries(minutes)) {
        await node.grant(owner, "r", { ...shared, ttlMs: each * minuteMs, fenceHint: 10 });
      }
      for (const client of [node, rival]) {
        const { owner, sharers = [], fence } = await client.inspect("r");
        expect({ owner, fence }).toEqual({ owner: "bob", fence: 10 });
        expect(sharers.map((sharer) => sharer.owner).sort()).toEqual(["alice", "bob", "carol"]);
        for (const sharer of sharers) {
          const ttlMs = minutes[sharer.owner as keyof typeof minutes] * minuteMs;
          expect(sharer.remainingMs, sharer.owner).toBeGreaterThan(ttlMs / 2);
          expect(sharer.remainingMs, sharer.owner).toBeLessThanOrEqual(ttlMs);
        }
      }
      await node.free("bob", "r");
      const { owner, sharers } = await rival.inspect("r");
      expect([owner, sharers?.length]).toEqual(["alice", 2]);
    },
  }),
  ...factsNeeding(["inspect", "sharing"], {
    "inspect() lists no sharer that has released or expired": async (world) => {
      const { node, rival } = world;
      for (const owner of ["alice", "bob"]) await node.grant(owner, "r", shared);
      await node.grant("carol", "r", { ...shared, ttlMs: briefMs });
      await expireBriefClaims(world);
      await node.free("bob", "r");
      expect(await rival.inspect("r")).toMatchObject({ owner: "alice", sharers: [{ owner: "alice" }] });
      expect((await rival.inspect("r")).sharers).toHaveLength(1);
      const { fence } = await rival.inspect("r");
      await node.free("alice", "r");
      expect(await rival.inspect("r")).toEqual({ owner: null, remainingMs: null, fence });
      await node.grant("bob", "r");
      expect((await rival.inspect("r")).sharers, "those of an exclusive claim").toBeUndefined();
    },

    "inspect() lists at least the hundred sharers that last longest": async ({ node, rival }) => {
      const owners = Array.from({ length: 110 }, (_, index) => `owner ${index}`);
      const share = (owner: string, index: number) =>
        node.grant(owner, "r", { ...shared, ttlMs: (10 + ((index * 37) % 110)) * minuteMs });
      await Promise.all(owners.map(share));
      const { sharers = [] } = await rival.inspect("r");
      const expected = owners.filter((_, index) => (index * 37) % 110 >= 10);
      expect(sharers.map(({ owner }) => owner)).toEqual(expect.arrayContaining(expected));
    },
  }),
];
