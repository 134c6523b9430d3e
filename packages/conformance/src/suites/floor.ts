import type { LockNode, NodeView } from "@holdfast/core/node";
import { expect } from "vitest";
import { type Fact, facts, factsNeeding } from "../fact.ts";
import { type Client, freshOwner, type Resources, shared } from "../world/client.ts";
import { dayMs, lastingMs } from "../world/durations.ts";
import { between, type FenceMatcher, oneOf } from "../world/expectations.ts";
import { type Clients, claimAndExpire, nextFence } from "../world/world.ts";
import { expectRejections } from "./malformed.ts";
import { expectRejection, stopNoticeably } from "./outages.ts";
import { namesOf } from "./waiting-lists.ts";

const largest = Number.MAX_SAFE_INTEGER;
const rejoined = { held: false, rejoined: true };

/** The likely mistakes behind a wrong reply. */
const mistakes = {
  neither:
    "the node must have raiseFloor() and scan(), or declare that it has neither with cannot: { floor: reason }; " +
    "without them, a lock server cannot be replaced while clients keep locking",
  notObeyed: "a grant is below the floor, so fences repeat after a server was replaced",
  notRaised: "a request that was sent after raiseFloor() resolved does not obey it",
  lowered: "the floor or the epoch is set instead of raised, or both only together",
  lost: "the floor and the epoch are not kept like the fence counters",
  applied: "the floor changes a claim in force by something else than the floor itself",
  claimed: "a request that is refused for its epoch changes something",
  tooStrict: "an epoch is refused that the node must serve",
};

/** Sets the counter of a free resource. */
async function setCounter(client: Client, resource: string, counter: number): Promise<void> {
  const owner = freshOwner();
  await client.grant(owner, resource);
  expect(await client.hold(owner, resource, { fence: counter })).toBeGreaterThanOrEqual(counter);
  await client.free(owner, resource);
}

/** Fails unless each fence of free resources is the expected one, through alternate clients. */
async function expectNext(
  { node, rival }: Clients,
  expected: readonly (readonly [Resources, number | FenceMatcher])[],
  mistake: string = mistakes.notObeyed,
): Promise<void> {
  for (const [index, [resources, fence]] of expected.entries()) {
    expect(await nextFence(index % 2 === 0 ? rival : node, resources), mistake).toEqual(fence);
  }
}

/** Fails unless the view shows the floor as a number of its own, or a counter that it has raised. */
function expectView(view: NodeView, { owner, fence }: Pick<NodeView, "owner" | "fence">, floor: number): void {
  const raised = Math.max(fence, floor);
  const accepted = [
    { owner, fence, floor },
    { owner, fence: raised, floor },
    { owner, fence: raised, floor: undefined },
  ];
  expect(accepted, mistakes.applied).toContainEqual({ owner: view.owner, fence: view.fence, floor: view.floor });
}

const raisesAtOnce = 8;
const rounds = 2;

/** Numbers from 1 to `count` in an order that rises and falls. */
function mixed(count: number, step: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => ((index * step) % count) + 1);
}

/** The fact about a node that must have both methods, or declare that it has neither. */
export const floorOfferFacts: readonly Fact[] = facts({
  "the node offers raiseFloor() and scan()": async ({ node, rival }) => {
    for (const { raiseFloor, scan } of [node.node, rival.node]) {
      expect([typeof raiseFloor, typeof scan], mistakes.neither).toEqual(["function", "function"]);
    }
  },
});

/** The facts about the floor and the epoch of a node, if it keeps them. */
export const floorFacts: readonly Fact[] = [
  ...factsNeeding(["floor"], {
    // The floor and the epoch only rise.
    "raiseFloor() raises the floor and the epoch each only if it is lower, for both clients": async (world) => {
      const { node, rival } = world;
      for (const client of [node, rival]) expect(await client.raiseFloor()).toEqual({ floor: 0, epoch: 0 });
      // A node without an epoch serves all.
      for (const [index, epoch] of [7, 1_000_000].entries()) {
        const fence = await node.grant("alice", "r", { epoch }, mistakes.tooStrict);
        expect(fence, "a fresh node is not empty, or a request of zeros raises something").toBe(1 + index);
        await rival.deny("bob", "r", { epoch: epoch + 1 });
        await node.free("alice", "r");
      }
      expect(await nextFence(rival, "never claimed")).toEqual(between(1, 3));
      const steps = [
        { asked: { floor: 100 }, after: { floor: 100, epoch: 0 } },
        { asked: { floor: 50, epoch: 3 }, after: { floor: 100, epoch: 3 } },
        { asked: { epoch: 2 }, after: { floor: 100, epoch: 3 } },
        { asked: { floor: 200, epoch: 1 }, after: { floor: 200, epoch: 3 } },
        { asked: { floor: 199, epoch: 4 }, after: { floor: 200, epoch: 4 } },
        { asked: { floor: 201, epoch: 11 }, after: { floor: 201, epoch: 11 } },
        { asked: {}, after: { floor: 201, epoch: 11 } },
      ];
      for (const [index, { asked, after }] of steps.entries()) {
        const [one, other] = index % 2 === 0 ? [node, rival] : [rival, node];
        expect(await one.raiseFloor(asked), mistakes.lowered).toEqual(after);
        expect(await other.raiseFloor(), mistakes.lowered).toEqual(after);
      }
      expect(await node.grant("alice", "r", { epoch: 11 })).toBe(202);
    },

    "raiseFloor() keeps every digit of the floor and the epoch": async (world) => {
      const tenDaysAhead = (Math.floor(world.nowMs()) + 10 * dayMs) * 1_000 + 357;
      for (const [floor, fenceHint] of [
        [4_294_967_297, 1],
        [Math.floor(world.nowMs()) * 1_000 + 357, 1],
        // A hint is limited as ever, and the floor is not.
        [tenDaysAhead, largest],
        [2 ** 53 - 2 ** 50 - 1, largest],
        [largest - 2, 1],
      ] as const) {
        expect(await world.node.raiseFloor({ floor })).toEqual({ floor, epoch: 0 });
        const fence = await world.rival.grant("alice", `r ${floor}`, { fenceHint });
        expect(fence, mistakes.notObeyed).toBe(floor + 1);
      }
      expect(await world.node.raiseFloor({ epoch: largest - 2 })).toEqual({
        floor: between(largest - 2, largest - 1),
        epoch: largest - 2,
      });
      await world.rival.refuse("alice", "r", { epoch: largest - 4 });
      await world.rival.refuse("alice", "r", { epoch: largest });
    },

    "raiseFloor() rejects a malformed request, and changes nothing": async (world) => {
      const { node, rival, timeoutMs } = world;
      const bad = [-1, Number.NaN, Number.POSITIVE_INFINITY, 1.5, 2 ** 53, 7n, "7", null, undefined];
      const request = { floor: 1_000, epoch: 1_000, timeoutMs };
      const flaws = bad.flatMap((value) => [{ floor: value }, { epoch: value }]);
      const raise = async (flawed: typeof request) => node.node.raiseFloor?.(flawed);
      await expectRejections("raiseFloor()", raise, request, flaws);
      expect(await rival.raiseFloor()).toEqual({ floor: 0, epoch: 0 });
      await expectNext(world, [["r", 1]]);
    },

    // A grant counts every counter below the floor as the floor.
    "acquire() grants one more than the floor if the counter is lower, through either client": async (world) => {
      const { node, rival } = world;
      await setCounter(node, "lower", 5);
      await setCounter(node, "one lower", 99);
      await claimAndExpire(world, "alice", "expired");
      await node.raiseFloor({ floor: 100 });
      await expectNext(world, [
        ["never claimed", between(101, 103)],
        ["also never claimed", between(101, 104)],
        ["lower", between(101, 105)],
        ["one lower", between(101, 106)],
        ["expired", between(101, 107)],
        ["lower", between(102, 108)],
        ["never claimed", between(102, 109)],
      ]);
      await rival.raiseFloor({ floor: 200 });
      await expectNext(world, [
        ["never claimed", 201],
        ["lower", between(201, 202)],
        ["claimed for the first time", between(201, 203)],
      ]);
      // Whatever calls are in flight.
      for (const [index, floor] of [1_000, 2_000, 3_000, 4_000].entries()) {
        const [one, other] = index % 2 === 0 ? [node, rival] : [rival, node];
        const inFlight = [node, rival].map((client, number) => nextFence(client, `in flight ${number}`));
        const obeyed = one.raiseFloor({ floor }).then(async () => {
          expect(await nextFence(other, "r"), mistakes.notRaised).toBeGreaterThan(floor);
        });
        await Promise.all([obeyed, ...inFlight]);
      }
      if (!world.can("takeover")) return;
      await node.grant("alice", "taken over");
      await node.raiseFloor({ floor: 5_000 });
      expect(await rival.grant("bob", "taken over", { takeover: "alice" }), mistakes.notObeyed).toBe(5_001);
      expect(await node.grant("carol", "taken over", { takeover: "bob" })).toBe(5_002);
    },

    "acquire() grants one more than the counter if that is not below the floor": async (world) => {
      await setCounter(world.node, "equal", 100);
      await setCounter(world.node, "higher", 1_000);
      await world.rival.raiseFloor({ floor: 100 });
      await expectNext(world, [
        ["equal", between(101, 1_001)],
        ["higher", between(1_001, 1_002)],
        ["higher", between(1_002, 1_003)],
      ]);
    },

    "acquire() grants exactly the hint if that is above the floor": async ({ node, rival }) => {
      await node.raiseFloor({ floor: 1_000 });
      for (const [fenceHint, fence] of [
        [999, 1_001],
        [1_000, between(1_001, 1_002)],
        [1_001, between(1_001, 1_003)],
        [1_002, between(1_002, 1_004)],
        [123_456_789, 123_456_789],
      ] as const) {
        expect(await rival.grant("alice", `hint ${fenceHint}`, { fenceHint }), mistakes.notObeyed).toEqual(fence);
      }
    },

    "acquire() resent by the holder grants again with its fence, or with the floor": async ({ node, rival }) => {
      const fence = await node.grant("alice", "r", { fenceHint: 10 });
      await rival.raiseFloor({ floor: 100 });
      for (const client of [node, rival]) {
        expect(await client.grant("alice", "r", { fenceHint: 50 }), mistakes.applied).toEqual(oneOf(fence, 100));
        await client.deny("bob", "r", { fenceHint: 50 });
      }
      expect(await rival.hold("alice", "r"), mistakes.applied).toEqual(oneOf(fence, 100));
      await node.free("alice", "r");
      expect(await node.grant("alice", "r"), mistakes.notObeyed).toBe(101);
      expect(await rival.grant("alice", "r")).toBe(101);
    },

    "acquire() grants the largest safe integer, and then rejects and claims nothing": async ({ node, rival }) => {
      await node.raiseFloor({ floor: largest - 1 });
      expect(await rival.grant("alice", "r"), mistakes.notObeyed).toBe(largest);
      await rival.free("alice", "r");
      await node.raiseFloor({ floor: largest });
      for (const resource of ["r", "never claimed"]) {
        const mistake = "acquire() must reject when no safe integer is left";
        await expect(rival.acquire("alice", resource), mistake).rejects.toThrow("rejected");
        expect(await node.extend("alice", resource), mistakes.claimed).toEqual({ held: false, rejoined: false });
        expect(await node.release("alice", resource), mistakes.claimed).toBe(false);
      }
      expect((await rival.scan()).claims, mistakes.claimed).toEqual([]);
    },

    // Extensions look at the counters, which a floor may have raised.
    "extend() raises the counter no further than its fence, or the floor": async ({ node, rival }) => {
      const fence = await node.grant("alice", "r");
      await node.raiseFloor({ floor: 100 });
      for (const client of [node, rival]) {
        expect(await client.hold("alice", "r"), mistakes.applied).toEqual(oneOf(fence, 100));
      }
      expect(await rival.hold("alice", "r", { fence: 50 }), mistakes.applied).toEqual(oneOf(50, 100));
      expect(await rival.hold("alice", "r", { fence: 500, rejoin: true })).toBe(500);
      await node.free("alice", "r");
      await expectNext({ node, rival }, [["r", 501]]);
    },

    // Which clients a node serves.
    "acquire() is served if its epoch differs from that of the node by 1 at most, and no other": async (world) => {
      const { node, rival } = world;
      for (const [index, nodeEpoch] of [1, 2, 3, 8, 15, 1_000_001].entries()) {
        const [one, other] = index % 2 === 0 ? [node, rival] : [rival, node];
        await one.raiseFloor({ epoch: nodeEpoch });
        for (const epoch of [1, nodeEpoch - 3, nodeEpoch - 2, nodeEpoch + 2, nodeEpoch + 3, nodeEpoch + 10]) {
          if (epoch >= 1 && Math.abs(epoch - nodeEpoch) > 1) await other.refuse("alice", "r", { epoch });
        }
        for (const epoch of [nodeEpoch - 1, nodeEpoch, nodeEpoch + 1]) {
          if (epoch < 1) continue;
          await other.grant("alice", "r", { epoch }, mistakes.tooStrict);
          await other.deny("bob", "r", { epoch });
          await one.free("alice", "r");
        }
        // Without an epoch, a request counts as one of epoch 1.
        if (nodeEpoch > 2) await other.refuse("alice", "r");
        else expect(await nextFence(other, "r"), mistakes.tooStrict).toBeGreaterThan(0);
      }
    },

    "acquire() that is refused for its epoch claims nothing, and changes no counter": async (world) => {
      const { node, rival } = world;
      await setCounter(node, "r", 10);
      await node.raiseFloor({ epoch: 3 });
      for (const client of [node, rival]) {
        await client.refuse("alice", "r", { fenceHint: 1_000, epoch: 1 });
        await client.refuse("alice", "r", { fenceHint: 1_000, epoch: 5 });
      }
      expect(await node.extend("alice", "r"), mistakes.claimed).toEqual({ held: false, rejoined: false });
      expect(await rival.grant("bob", "r", { epoch: 3 }, mistakes.claimed), mistakes.claimed).toBe(11);
      await node.free("bob", "r");
      expect(await rival.grant("bob", "r", { epoch: 4 })).toBe(12);
      if (!world.can("severalResources")) return;
      await rival.refuse("alice", ["a", "b"], { fenceHint: 1_000 });
      for (const resource of ["a", "b"]) {
        const fence = await node.grant("bob", resource, { epoch: 3 }, mistakes.claimed);
        expect(fence, mistakes.claimed).toEqual(between(1, 14));
      }
    },

    "acquire() is refused for its epoch while another owner holds the resource, and changes nothing": async (world) => {
      const { node, rival } = world;
      const fence = await node.grant("alice", "r");
      await node.raiseFloor({ epoch: 3 });
      for (const terms of [{}, shared, world.can("takeover") ? { takeover: "alice" } : {}]) {
        await rival.refuse("bob", "r", { ...terms, fenceHint: 1_000 }, "a denial says nothing about the epoch");
      }
      for (const client of [node, rival]) await client.refuse("alice", "r");
      expect(await node.hold("alice", "r", {}, mistakes.claimed), mistakes.claimed).toBe(fence);
      await rival.deny("bob", "r", { epoch: 3 });
      const again = await node.grant("alice", "r", { epoch: 4 }, mistakes.tooStrict);
      expect(again, "sent again, of an epoch that is served").toBe(fence);
    },

    "extend() and release() serve holders of all epochs": async (world) => {
      const { node, rival } = world;
      const fences = new Map<string, number>();
      for (const epoch of [1, 2, 3]) fences.set(`r${epoch}`, await node.grant("alice", `r${epoch}`, { epoch }));
      await node.raiseFloor({ epoch: 7 });
      for (const [resource, fence] of fences) {
        for (const client of [node, rival]) {
          expect(await client.hold("alice", resource, {}, "extend() looks at the epoch")).toEqual(between(fence, 5));
        }
        await rival.free("alice", resource, {}, "release() looks at the epoch");
        expect(await node.release("alice", resource)).toBe(false);
        await node.grant("bob", resource, { epoch: 7 });
      }
      if (!world.can("rejoin")) return;
      expect(await rival.extend("alice", "rejoined", { fence: 10, rejoin: true })).toEqual(rejoined);
      expect(await node.hold("alice", "rejoined")).toBe(10);
    },

    // Calls that arrive at the same time.
    "raiseFloor() sent many times at once leaves the highest floor and the highest epoch": async (world) => {
      const clients = [world.node, world.rival];
      for (let round = 1; round <= world.times(rounds); round++) {
        const highest = { floor: 1_000 * round + raisesAtOnce, epoch: 100 * round + raisesAtOnce };
        const [floors, epochs] = [mixed(raisesAtOnce, 5), mixed(raisesAtOnce, 3)];
        const sent = floors.map((floor, index) => {
          const minimum = { floor: 1_000 * round + floor, epoch: 100 * round + (epochs[index] as number) };
          return (clients[index % 2] as Client).raiseFloor(minimum);
        });
        await Promise.all(sent);
        for (const client of clients) expect(await client.raiseFloor(), "a raise is not atomic").toEqual(highest);
      }
    },
  }),
  ...factsNeeding(["floor", "severalResources"], {
    "acquire() of several resources grants one more than the highest of the floor and their counters": async (
      world,
    ) => {
      const { node, rival } = world;
      const names = ["a", "b", "c", "d"];
      for (const [resource, counter] of [["a", 10] as const, ["b", 30] as const, ["c", 20] as const]) {
        await setCounter(node, resource, counter);
      }
      for (const [floor, least, most] of [[25, 31, 32] as const, [40, 41, 41] as const, [41, 42, 42] as const]) {
        await rival.raiseFloor({ floor });
        const fence = await node.grant("alice", names, { fenceHint: 2 });
        expect(fence, mistakes.notObeyed).toEqual(between(least, most));
        for (const resource of names) expect(await rival.hold("alice", resource)).toBe(fence);
        await node.free("alice", names);
      }
      await expectNext(
        world,
        names.map((resource, index) => [resource, between(43, 43 + index)]),
      );
    },

    "acquire() resent for several resources grants with their highest counter, or with the floor": async (world) => {
      const { node, rival } = world;
      await node.grant("alice", ["a", "b"], { fenceHint: 10 });
      await node.hold("alice", "b", { fence: 20 });
      await rival.raiseFloor({ floor: 100 });
      expect(await rival.grant("alice", ["a", "b"], { fenceHint: 50 }), mistakes.applied).toEqual(oneOf(20, 100));
      expect(await node.hold("alice", "a"), mistakes.applied).toEqual(oneOf(10, 20, 100));
    },
  }),
  ...factsNeeding(["floor", "sharing"], {
    // A claim that joins others leaves the counter alone, unless it is below the floor.
    "acquire() of a shared claim grants one more than the floor, or the floor itself if it joins lower counters":
      async ({ node, rival }) => {
        await node.grant("alice", "r", { ...shared, fenceHint: 10 });
        await rival.raiseFloor({ floor: 100 });
        expect(await node.grant("alice", "r", { ...shared, fenceHint: 50 }), mistakes.applied).toEqual(oneOf(10, 100));
        expect(await node.grant("bob", "r", { ...shared, fenceHint: 1_000 }), mistakes.notObeyed).toBe(100);
        expect(await rival.grant("carol", "r", shared)).toBe(100);
        expect(await rival.grant("bob", "r", { ...shared, fenceHint: 1_000 }), "sent again").toBe(100);
        for (const owner of ["alice", "bob", "carol"]) {
          expect(await rival.hold(owner, "r", shared)).toBe(100);
          await node.free(owner, "r");
        }
        expect(await rival.grant("dave", "r", shared)).toBe(101);
        expect(await node.grant("erin", "r", shared)).toBe(101);
        expect(await node.grant("dave", "never claimed", shared), mistakes.notObeyed).toEqual(between(101, 102));
      },

    "acquire() of a shared claim is refused for its epoch, and does not join": async ({ node, rival }) => {
      await node.grant("alice", "r", shared);
      await node.raiseFloor({ epoch: 3, floor: 100 });
      await rival.refuse("bob", "r", shared);
      expect(await rival.hold("alice", "r", shared), mistakes.claimed).toEqual(oneOf(1, 100));
      await node.free("alice", "r");
      expect(await rival.grant("carol", "r", { epoch: 3 }, mistakes.claimed)).toBe(101);
    },
  }),
  ...factsNeeding(["floor", "sharing", "severalResources"], {
    "acquire() of a shared claim on several resources obeys the floor, whether it joins on all or on some of them":
      async ({ node, rival }) => {
        for (const [resource, fenceHint] of [["a", 10] as const, ["b", 30] as const]) {
          await node.grant("alice", resource, { ...shared, fenceHint });
        }
        for (const [owner, floor, fence] of [["bob", 20, 30] as const, ["carol", 40, 40] as const]) {
          await rival.raiseFloor({ floor });
          expect(await node.grant(owner, ["a", "b"], { ...shared, fenceHint: 1_000 }), mistakes.notObeyed).toBe(fence);
          for (const resource of ["a", "b"]) expect(await rival.hold("alice", resource, shared)).toBe(fence);
        }
        await rival.raiseFloor({ floor: 50 });
        expect(await node.grant("dave", ["a", "c"], shared), mistakes.notObeyed).toBe(51);
        expect(await rival.hold("alice", "a", shared)).toBe(51);
        expect(await rival.hold("alice", "b", shared)).toEqual(oneOf(40, between(50, 51)));
      },
  }),
  ...factsNeeding(["floor", "rejoin"], {
    "extend() with rejoin advances the counter itself, or the floor that has raised it": async ({ node, rival }) => {
      await setCounter(node, "lower", 5);
      await node.raiseFloor({ floor: 100 });
      for (const [resource, atLeast, fence] of [
        ["lower", 1, 6],
        ["never claimed", 1, 1],
        ["raised by the extension", 70, 70],
      ] as const) {
        expect(await rival.extend("alice", resource, { fence: atLeast, rejoin: true })).toEqual(rejoined);
        const held = await node.hold("alice", resource);
        expect(held, mistakes.applied).toEqual(oneOf(fence, between(101, 105)));
        await node.free("alice", resource);
        expect(await nextFence(rival, resource), mistakes.notObeyed).toBe(Math.max(100, held) + 1);
      }
    },
  }),
  ...factsNeeding(["floor", "rejoin", "sharing"], {
    "extend() with rejoin of a shared claim leaves the counter alone where it joins, or at the floor": async ({
      node,
      rival,
    }) => {
      await node.grant("alice", "r", { ...shared, fenceHint: 10 });
      await node.raiseFloor({ floor: 100 });
      expect(await rival.extend("bob", "r", { ...shared, rejoin: true })).toEqual(rejoined);
      expect(await node.hold("alice", "r", shared), mistakes.applied).toEqual(oneOf(10, 100));
    },
  }),
  ...factsNeeding(["floor", "inspect"], {
    "inspect() returns the floor beside the counter, or the counter that it has raised": async ({ node, rival }) => {
      await node.raiseFloor({ epoch: 1 });
      expect(await rival.inspect("r")).toEqual({ owner: null, remainingMs: null, fence: 0 });
      await node.grant("alice", "r", { fenceHint: 10 });
      await node.raiseFloor({ floor: 100 });
      for (const client of [node, rival]) {
        expectView(await client.inspect("r"), { owner: "alice", fence: 10 }, 100);
        expectView(await client.inspect("never claimed"), { owner: null, fence: 0 }, 100);
      }
      await node.free("alice", "r");
      expectView(await rival.inspect("r"), { owner: null, fence: 10 }, 100);
      await rival.raiseFloor({ floor: 200 });
      expect(await nextFence(node, "r"), mistakes.notObeyed).toBe(201);
      expectView(await rival.inspect("r"), { owner: null, fence: 201 }, 200);
    },
  }),
  ...factsNeeding(["floor", "waitingLists"], {
    "acquire() that is refused for its epoch adds its waiter to no waiting list": async (world) => {
      const { node, rival } = world;
      await node.raiseFloor({ epoch: 3 });
      await node.grant("alice", "r", { epoch: 3 });
      await rival.refuse("bob", "r", { waiter: "B" });
      await rival.refuse("bob", "r", { waiter: "B", ...shared });
      await rival.deny("carol", "r", { waiter: "C", epoch: 4 });
      await rival.refuse("dave", "r", { waiter: "A", epoch: 5 });
      expect(await node.free("alice", "r"), mistakes.claimed).toBe("C");
      await node.grant("alice", "r", { epoch: 3 });
      expect(await node.free("alice", "r"), mistakes.claimed).toBeUndefined();
      if (!world.can("sharing")) return;
      await node.grant("alice", "shared", { ...shared, epoch: 3 });
      await rival.refuse("bob", "shared", { waiter: "B" });
      await rival.grant("carol", "shared", { ...shared, epoch: 3 }, mistakes.claimed);
    },

    "acquire() that is refused for its epoch removes no waiter from a waiting list": async ({ node, rival }) => {
      await node.grant("alice", "r");
      await rival.deny("bob", "r", { waiter: "B" });
      await node.free("alice", "r", { undo: true });
      await node.raiseFloor({ epoch: 3 });
      await rival.refuse("bob", "r", { waiter: "B" });
      await node.grant("alice", "r", { epoch: 3 });
      expect(await node.free("alice", "r"), mistakes.claimed).toBe("B");
    },

    "raiseFloor() changes no waiting list": async ({ node, rival }) => {
      await node.grant("alice", "r");
      for (const waiter of ["B", "C"]) await rival.deny(freshOwner(), "r", { waiter });
      await node.raiseFloor({ floor: 100, epoch: 1 });
      expect(await node.free("alice", "r")).toBe("B");
      expect(await namesOf(rival, "r")).toEqual(["C"]);
    },
  }),
  ...factsNeeding(["floor", "otherProcess"], {
    "a floor and an epoch that one process raises are obeyed by another, at once": async (world) => {
      const clients = [world.node, await world.inOtherProcess()] as const;
      for (let round = 1; round <= rounds; round++) {
        const [one, other] = round % 2 === 0 ? clients : ([clients[1], clients[0]] as const);
        const raised = { floor: 100 * round, epoch: 3 * round };
        await one.raiseFloor(raised);
        expect(await other.grant("alice", "r", { epoch: raised.epoch }), mistakes.notRaised).toBe(raised.floor + 1);
        await other.refuse("bob", "r", { epoch: raised.epoch - 2 });
        expect(await other.raiseFloor()).toEqual({ ...raised, floor: between(raised.floor, raised.floor + 1) });
        await one.free("alice", "r");
      }
    },
  }),
];

/** The facts about an unreachable server. */
export const outageFloorFacts: readonly Fact[] = factsNeeding(["floor", "server"], {
  "raiseFloor() and scan() reject in time while the server is unreachable": async (world) => {
    await stopNoticeably(world);
    const { node } = world.node as { node: Required<LockNode> };
    const timeoutMs = 100;
    await expectRejection(world, "raiseFloor()", () => node.raiseFloor({ floor: 100, epoch: 0, timeoutMs }));
    await expectRejection(world, "scan()", () => node.scan({ timeoutMs }));
  },

  "the floor and the epoch outlive the connection that raised them": async (world) => {
    for (const [floor, epoch] of [[100, 3] as const, [200, 4] as const]) {
      await world.node.raiseFloor({ floor });
      await world.rival.raiseFloor({ epoch });
      await world.server.stop();
      await expectRejection(world, "raiseFloor()", () => world.node.raiseFloor());
      await world.server.start();
      for (const client of [world.node, world.rival]) {
        const isBack = () =>
          client.raiseFloor().then(
            () => true,
            () => false,
          );
        await world.eventually("the node replies again", isBack);
        expect(await client.raiseFloor(), mistakes.lost).toEqual({ floor, epoch });
        await client.refuse("alice", "r");
      }
      expect(await world.rival.grant("alice", "r", { epoch }), mistakes.lost).toBe(floor + 1);
      await world.node.free("alice", "r");
    }
  },
});

/** The facts about a floor that lasts for seconds. */
export const lastingFloorFacts: readonly Fact[] = [
  ...factsNeeding(["floor"], {
    "the floor and the epoch last for seconds, and outlive claims and counters": async (world) => {
      const { node, rival } = world;
      await node.raiseFloor({ floor: 100, epoch: 3 });
      await world.pass(lastingMs);
      await world.leap(400 * dayMs);
      expect(await rival.raiseFloor(), mistakes.lost).toEqual({ floor: 100, epoch: 3 });
      await rival.refuse("alice", "r", {}, mistakes.lost);
      expect(await rival.grant("alice", "r", { epoch: 3 }), mistakes.lost).toBe(101);
    },
  }),
  ...factsNeeding(["floor", "otherProcess"], {
    "the floor and the epoch last for seconds after the process that raised them has ended": async (world) => {
      const { client, kill } = await world.inOwnProcess();
      await client.raiseFloor({ floor: 100, epoch: 3 });
      await kill();
      await world.pass(lastingMs);
      await world.rival.refuse("alice", "r", {}, mistakes.lost);
      expect(await world.rival.grant("alice", "r", { epoch: 3 }), mistakes.lost).toBe(101);
    },
  }),
];
