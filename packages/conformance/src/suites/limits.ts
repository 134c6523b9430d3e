import { expect } from "vitest";
import { type Fact, facts } from "../fact.ts";
import type { Limit } from "../settings.ts";
import { shared } from "../world/client.ts";
import { thirtyDaysMs } from "../world/durations.ts";
import { between, expectKeptFor } from "../world/expectations.ts";
import { type Clients, momentMs, nextFence, type World } from "../world/world.ts";

/** Enough names that no server finds all of them related by chance. */
const unrelated = Array.from({ length: 8 }, (_, index) => `unrelated ${index}`);

/** As many names as a call may have, and one more. */
function tooMany({ resourcesMax }: World): string[] {
  return Array.from({ length: resourcesMax + 1 }, (_, index) => `resource ${index}`);
}

/** Fails unless a claim on these resources rejects, and changes nothing. */
async function expectNoClaim({ node, rival }: Clients, names: readonly string[], mistake?: string): Promise<void> {
  await expect(node.acquire("alice", names, { fenceHint: 1_000 }), mistake).rejects.toThrow("rejected");
  for (const [index, name] of names.entries()) {
    expect(await nextFence(rival, name)).toEqual(between(1, 1 + index));
  }
}

/** Claims each of these resources, and fails unless an extension of all rejects and changes nothing. */
async function expectNoExtension(world: World, { node, rival }: Clients, names: readonly string[]): Promise<void> {
  const fences: number[] = [];
  for (const name of names) fences.push(await node.grant("alice", name));
  for (const rejoin of [false, true]) {
    await expect(node.extend("alice", names, { ttlMs: 1, fence: 1_000, rejoin })).rejects.toThrow("rejected");
  }
  await world.pass(momentMs);
  for (const [index, name] of names.entries()) {
    expect(await rival.hold("alice", name)).toEqual(between(fences[index] as number, names.length));
  }
}

/** The facts that replace others if an adapter declares a limit. */
export const limitFacts: Readonly<Record<Limit, readonly Fact[]>> = {
  severalResources: facts({
    "acquire() rejects a claim on several resources, and changes nothing": (world) => expectNoClaim(world, ["a", "b"]),

    "extend() rejects an extension of several resources, and changes nothing": (world) =>
      expectNoExtension(world, world, ["a", "b"]),
  }),

  unrelatedResources: facts({
    "acquire() rejects a claim on unrelated resources, names them, and changes nothing": async ({ bare }) => {
      await expectNoClaim(bare, unrelated);
      const claimed = bare.node.acquire("alice", unrelated);
      for (const resource of unrelated) await expect(claimed).rejects.toThrow(resource);
    },

    "extend() rejects an extension of unrelated resources, and changes nothing": (world) =>
      expectNoExtension(world, world.bare, unrelated),
  }),

  takeover: facts({
    "acquire() with takeover is denied like any other claim, and changes nothing": async ({ node, rival }) => {
      const fence = await node.grant("alice", "r");
      await rival.deny("bob", "r", { takeover: "alice", fenceHint: fence + 1_000 });
      expect(await node.hold("alice", "r")).toBe(fence);
    },
  }),

  rejoin: facts({
    "extend() with rejoin of a free resource returns neither held nor rejoined, and changes nothing": async (world) => {
      const { node, rival } = world;
      expect(await node.extend("alice", "r", { fence: 1_000, rejoin: true })).toEqual({
        held: false,
        rejoined: false,
      });
      expect(await nextFence(rival, "r")).toBe(1);
    },
  }),

  sharing: facts({
    "acquire() of a shared claim is denied while another owner holds the resource, and denies it to others": async ({
      node,
      rival,
    }) => {
      for (const [mode, otherMode] of [
        [{}, shared],
        [shared, {}],
        [shared, shared],
      ]) {
        const fence = await node.grant("alice", "r", mode);
        await rival.deny("bob", "r", { ...otherMode, fenceHint: fence + 1_000 });
        expect(await node.hold("alice", "r", mode)).toBe(fence);
        await node.free("alice", "r");
      }
    },

    "acquire() of a shared claim advances the counter, as any grant does": async ({ node, rival }) => {
      for (let fence = 1; fence <= 3; fence++) {
        expect(await node.grant("alice", "r", shared)).toBe(fence);
        expect(await node.grant("alice", "r", shared), "sent again").toBe(fence);
        expect(await rival.release("bob", "r")).toBe(false);
        await node.free("alice", "r");
      }
    },

    "extend() of a shared claim keeps it, and rejoins nothing while another owner holds the resource": async ({
      node,
      rival,
    }) => {
      const fence = await node.grant("alice", "r", shared);
      expect(await rival.extend("bob", "r", { ...shared, fence: 1_000, rejoin: true })).toEqual({
        held: false,
        rejoined: false,
      });
      expect(await node.hold("alice", "r", { ...shared, fence: 10 })).toBe(10);
      expect(fence).toBe(1);
    },
  }),

  floor: facts({
    "the node offers neither raiseFloor() nor scan()": async ({ node, rival }) => {
      for (const { raiseFloor, scan } of [node.node, rival.node])
        expect([raiseFloor, scan]).toEqual([undefined, undefined]);
    },

    "acquire() with an epoch is granted and denied as without one": async ({ node, rival }) => {
      for (const [index, epoch] of [1, 2, 7, 1_000_000].entries()) {
        const fence = await node.grant("alice", "r", { epoch });
        expect(fence).toBe(index + 1);
        expect(await rival.grant("alice", "r", { epoch: epoch + 5 }), "sent again").toBe(fence);
        await rival.deny("bob", "r", { epoch, fenceHint: 1_000 });
        expect(await node.hold("alice", "r")).toBe(fence);
        await node.free("alice", "r");
      }
    },
  }),

  longTtl: facts({
    "acquire() rejects a claim for thirty days, and claims nothing": async ({ node, rival }) => {
      await expect(node.acquire("alice", "r", { ttlMs: thirtyDaysMs })).rejects.toThrow("rejected");
      expect(await nextFence(rival, "r")).toBe(1);
    },

    "extend() rejects an extension by thirty days, and leaves the claim": async ({ node, rival }) => {
      const fence = await node.grant("alice", "r");
      await expect(node.extend("alice", "r", { ttlMs: thirtyDaysMs })).rejects.toThrow("rejected");
      await rival.deny("bob", "r");
      expect(await node.hold("alice", "r")).toBe(fence);
    },
  }),

  manyResources: facts({
    "acquire() rejects a claim on more resources than the limit, and changes nothing": (world) =>
      expectNoClaim(world, tooMany(world), "only a part of the resources was claimed"),

    "extend() and release() reject more resources than the limit, and change nothing": async (world) => {
      await expectNoExtension(world, world, tooMany(world));
      await expect(world.node.release("alice", tooMany(world))).rejects.toThrow("rejected");
      for (const name of tooMany(world)) await world.rival.hold("alice", name);
    },
  }),

  longNames: facts({
    "acquire() rejects a name that is too long, and changes nothing": async (world) => {
      const { node, rival } = world.bare;
      const tooLong = "x".repeat(world.nameBytesMax + 1);
      await expect(node.acquire("alice", tooLong), "a name that is too long was cut").rejects.toThrow("rejected");
      const longest = tooLong.slice(1);
      expect(await nextFence(rival, longest)).toBe(1);
      await node.grant("alice", longest);
      await expect(node.extend("alice", tooLong)).rejects.toThrow("rejected");
      expect(await rival.hold("alice", longest)).toBe(2);
    },
  }),

  exactTtl: facts({
    "a claim may last somewhat longer than its ttl, never shorter, and ends": async (world) => {
      const startMs = world.elapsedMs();
      await world.node.grant("alice", "r", { ttlMs: 300 });
      await expectKeptFor(world, "r", 300, startMs);
    },
  }),
};
