import { expect } from "vitest";
import { type Fact, factsNeeding } from "../fact.ts";
import { type Client, type Resources, shared } from "../world/client.ts";
import { afterExpiry } from "../world/expectations.ts";
import { claimAndExpire, nextFence, type World } from "../world/world.ts";

/** Claims and releases the resources until `isNotified()`. Repeats this, because a notification may be lost. */
export async function releaseUntil(
  world: World,
  client: Client,
  resources: Resources,
  isNotified: () => boolean,
): Promise<void> {
  let releases = 0;
  let nextMs = 0;
  await world.eventually("the watcher is notified of a release", async () => {
    // A notification may also be late: the delay before the next release doubles each time.
    if (!isNotified() && world.elapsedMs() >= nextMs) {
      await nextFence(client, resources);
      releases++;
      nextMs = world.elapsedMs() + 2 ** releases;
    }
    return isNotified();
  });
}

/** Watches resources, and fails unless the watcher is notified of exactly the expected ones meanwhile. */
async function expectHeard(
  world: World,
  watched: Resources,
  expected: readonly string[],
  meanwhile: (heard: readonly string[]) => Promise<void>,
): Promise<void> {
  const heard: string[] = [];
  const unwatch = await world.node.watch(watched, (resource) => heard.push(resource));
  await meanwhile(heard);
  expect(new Set(heard)).toEqual(new Set(expected));
  await unwatch();
}

/** Fails unless a watcher of the first client is notified of a release by this one. */
async function expectNotified(world: World, client: Client, released: Resources, watched: string): Promise<void> {
  await expectHeard(world, watched, [watched], (heard) =>
    releaseUntil(world, client, released, () => heard.length > 0),
  );
}

/** The facts about {@link LockNode.watch}, if the node offers it. */
export const watchFacts: readonly Fact[] = [
  ...factsNeeding(["watch", "sharing"], {
    // The watchers that a release notifies.
    "watch() notifies of the release of the last shared claim": (world) =>
      expectHeard(world, "r", ["r"], (heard) =>
        world.eventually("the watcher is notified", async () => {
          for (const owner of ["alice", "bob"]) await world.rival.grant(owner, "r", shared);
          for (const owner of ["alice", "bob"]) await world.rival.free(owner, "r");
          return heard.length > 0;
        }),
      ),
  }),
  ...factsNeeding(["watch"], {
    "watch() notifies of a release by the rival client": (world) => expectNotified(world, world.rival, "r", "r"),

    "watch() notifies of a release by its own client": (world) => expectNotified(world, world.node, "r", "r"),

    "watch() of several resources notifies of each by its name, and of no other": (world) => {
      const names = ["a", "b", "r:1 {x} 🔒"];
      return expectHeard(world, names, names, async (heard) => {
        for (const resource of ["b", "not watched", "a", "r:1 {x} 🔒"]) {
          if (resource === "not watched") await nextFence(world.rival, resource);
          else await releaseUntil(world, world.rival, resource, () => heard.includes(resource));
        }
      });
    },

    "watch() does not notify of resources that release() did not free": (world) =>
      expectHeard(world, ["held", "free", "sentinel"], ["sentinel"], async (heard) => {
        await world.node.grant("alice", "held");
        await world.rival.release("bob", "held");
        await world.rival.release("bob", "free");
        await releaseUntil(world, world.rival, "sentinel", () => heard.includes("sentinel"));
      }),

    // The start and the end of watches.
    "watch() serves several watchers of one resource, of either client": async (world) => {
      const heard = new Set<number>();
      const ends = [
        await world.node.watch("r", () => heard.add(1)),
        await world.node.watch("r", () => heard.add(2)),
        await world.rival.watch("r", () => heard.add(3)),
      ];
      await releaseUntil(world, world.rival, "r", () => heard.size === ends.length);
      for (const unwatch of ends) await unwatch();
    },

    "unwatch() ends the watch, and only that one": async (world) => {
      let heard = 0;
      let heardAfterEnd = 0;
      let ended = false;
      const unwatch = await world.node.watch("r", () => {
        if (ended) heardAfterEnd++;
      });
      const unwatchOther = await world.node.watch("r", () => heard++);
      await unwatch();
      ended = true;
      for (let round = 1; round <= 3; round++) await releaseUntil(world, world.rival, "r", () => heard >= round);
      expect(heardAfterEnd).toBe(0);
      await unwatchOther();
    },

    "unwatch() called again does not affect other watches of the resource": async (world) => {
      let heard = 0;
      const unwatchOther = await world.node.watch("r", () => heard++);
      const unwatch = await world.node.watch("r", () => {});
      await unwatch();
      await unwatch();
      await Promise.all([unwatch(), unwatch()]);
      await releaseUntil(world, world.rival, "r", () => heard > 0);
      await unwatchOther();
    },

    "watch() can start again after it has ended": async (world) => {
      const unwatch = await world.node.watch("r", () => {});
      // Locks do not depend on notifications: an expired claim is free without one.
      const fence = await claimAndExpire(world, "alice", "r");
      expect(fence, "a watch changes the counter").toBe(1);
      expect(await world.rival.grant("bob", "r")).toEqual(afterExpiry(fence + 1));
      await unwatch();
      await world.node.hold("bob", "r");
      await world.node.free("bob", "r");
      await expectNotified(world, world.rival, "r", "r");
    },
  }),
  ...factsNeeding(["watch", "severalResources"], {
    "watch() notifies of one resource that was released together with others": (world) =>
      expectNotified(world, world.rival, ["a", "b", "c"], "b"),
  }),
];
