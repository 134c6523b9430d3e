import { expect } from "vitest";
import { type Fact, facts, factsNeeding } from "../fact.ts";
import { freshOwner } from "../world/client.ts";
import { dayMs, minuteMs } from "../world/durations.ts";
import { afterExpiry, between } from "../world/expectations.ts";
import { claimAndExpire, nextFence, type World } from "../world/world.ts";

const dayUs = dayMs * 1_000;
const minuteUs = minuteMs * 1_000;

/** Returns the hint of a client with a correct clock, in microseconds. Not a round number, so that lost digits show. */
function hintOf(world: World): number {
  return Math.floor(world.nowMs()) * 1_000 + 357;
}

/** The facts about the fence counters. */
export const fenceFacts: readonly Fact[] = [
  ...facts({
    // A counter only grows, whatever happens to the claim.
    "the fence of a grant is one more than the counter, after a release by either client": async ({ node, rival }) => {
      const fences: number[] = [];
      for (const client of [node, rival, rival, node]) fences.push(await nextFence(client, "r"));
      expect(fences).toEqual([1, 2, 3, 4]);
    },

    "the fence of a grant is one more than the counter, after an expiry": async (world) => {
      const fence = await claimAndExpire(world, "alice", "r");
      expect(await world.rival.grant("bob", "r")).toEqual(afterExpiry(fence + 1));
    },

    // A hint above the counter is used exactly.
    "the fence is exactly the hint if that is above the counter": async (world) => {
      const ofClientHoursAhead = hintOf(world) + dayUs / 4;
      for (const fenceHint of [2, 10, 1_000, 123_456_789, 4_294_967_297, ofClientHoursAhead]) {
        expect(await world.node.grant("alice", "r", { fenceHint })).toBe(fenceHint);
        await world.node.release("alice", "r");
      }
      const fence = await world.rival.grant("bob", "r", { fenceHint: ofClientHoursAhead - 1 });
      expect(fence, "after a lower hint").toBe(ofClientHoursAhead + 1);
    },

    "the fence is exactly the hint if that is the time in microseconds": async (world) => {
      const hint = hintOf(world);
      expect(await world.node.grant("alice", "r", { fenceHint: hint })).toBe(hint);
      await world.node.release("alice", "r");
      expect(await world.rival.grant("bob", "r", { fenceHint: hint })).toBe(hint + 1);
      expect(await world.rival.hold("bob", "r", { fence: hint + 10 })).toBe(hint + 10);
      await world.rival.release("bob", "r");
      expect(await nextFence(world.node, "r")).toBe(hint + 11);
    },

    "a hint is limited to a day ahead of the store's clock, or of the adapter's": async (world) => {
      const { node } = world;
      for (const [index, fenceHint] of [Number.MAX_SAFE_INTEGER, hintOf(world) + 2 * dayUs].entries()) {
        const fence = await node.grant("a client with a broken clock", `r${index}`, { fenceHint });
        expect(fence).toBeLessThan(world.nowMs() * 1_000 + dayUs + 5 * minuteUs);
      }
    },

    "a hint beyond this limit, however often it is sent, advances the counter no faster than the clock": async (
      world,
    ) => {
      for (let round = 0; round < 20; round++) {
        const fence = await world.node.grant("a client with a broken clock", "r", {
          fenceHint: Number.MAX_SAFE_INTEGER,
        });
        expect(fence).toBeLessThan(world.nowMs() * 1_000 + dayUs + 5 * minuteUs);
        await world.node.release("a client with a broken clock", "r");
      }
    },

    // Counters advance together in claims on several resources. Resources may share one.
    "the counter of a resource is no higher than if all resources shared it": async ({ node, rival }) => {
      await node.grant("alice", "a", { fenceHint: 1_000 });
      const fence = await rival.grant("bob", "b");
      expect(fence).toEqual(between(1, 1_001));
      await node.hold("alice", "a", { fence: 2_000 });
      expect(await nextFence(rival, "c")).toEqual(between(1, 2_001));
      expect(await rival.hold("bob", "b")).toEqual(between(fence, 2_001));
    },

    "the counter of a resource advances with each of its grants, whatever other resources do": async (world) => {
      const clients = [world.node, world.rival] as const;
      const names = ["a", "b", "c", "d"];
      const last = new Map(names.map((name) => [name, 0]));
      for (let turn = 0; turn < 24; turn++) {
        const [client, other] = turn % 2 === 0 ? clients : ([clients[1], clients[0]] as const);
        const [name, between] = [names[turn % 4] as string, names[(turn * 3 + 1) % 4] as string];
        const owner = freshOwner();
        const granted = await client.grant(owner, name);
        expect(granted, `the fence of ${name} after that of its last claim`).toBeGreaterThan(last.get(name) as number);
        if (between !== name) last.set(between, await nextFence(other, between));
        const raised = turn % 3 === 0 ? granted + 100 : 1;
        const held = await other.hold(owner, name, { fence: raised });
        expect(held, `the counter of ${name} while it is held`).toBeGreaterThanOrEqual(Math.max(granted, raised));
        await client.free(owner, name);
        const next = await nextFence(other, name);
        expect(next, `the fence of ${name} after a claim that saw its counter advance`).toBe(held + 1);
        last.set(name, next);
      }
    },
  }),
  ...factsNeeding(["severalResources"], {
    "the fence of several resources is one more than their highest counter, for each of them": async (world) => {
      const { node, rival } = world;
      for (const [resource, fenceHint] of [["a", 10] as const, ["b", 30] as const, ["c", 20] as const]) {
        await node.grant("alice", resource, { fenceHint });
        await node.release("alice", resource);
      }
      expect(await node.grant("bob", ["a", "b", "c", "d"], { fenceHint: 25 })).toEqual(between(31, 32));
      await node.release("bob", ["a", "b", "c", "d"]);
      for (const [index, resource] of ["a", "b", "c", "d"].entries()) {
        expect(await nextFence(rival, resource)).toEqual(between(32, 33 + index));
      }
    },
  }),
];
