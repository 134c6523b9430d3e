import { expect } from "vitest";
import { type Fact, fact, factNeeding } from "../fact.ts";
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

/** The watchers that a release notifies. */
const notifications: readonly Fact[] = [
  factNeeding("sharing", "watch() notifies of the release of the last shared claim", async (world) => {
    const heard: string[] = [];
    const unwatch = await world.node.watch("r", (resource) => heard.push(resource));
    await world.eventually("the watcher is notified", async () => {
      for (const owner of ["alice", "bob"]) await world.rival.grant(owner, "r", shared);
      for (const owner of ["alice", "bob"]) await world.rival.free(owner, "r");
      return heard.length > 0;
    });
    expect(new Set(heard)).toEqual(new Set(["r"]));
    await unwatch();
  }),

  ...[["rival", "the rival client"] as const, ["node", "its own client"] as const].map(([client, named]) =>
    fact(`watch() notifies of a release by ${named}`, async (world) => {
      const heard: string[] = [];
      const unwatch = await world.node.watch("r", (resource) => heard.push(resource));
      await releaseUntil(world, world[client], "r", () => heard.length > 0);
      expect(new Set(heard)).toEqual(new Set(["r"]));
      await unwatch();
    }),
  ),

  fact("watch() of several resources notifies of each by its name, and of no other", async (world) => {
    const heard: string[] = [];
    const unwatch = await world.node.watch(["a", "b", "r:1 {x} 🔒"], (resource) => heard.push(resource));
    for (const resource of ["b", "not watched", "a", "r:1 {x} 🔒"]) {
      if (resource === "not watched") await nextFence(world.rival, resource);
      else await releaseUntil(world, world.rival, resource, () => heard.includes(resource));
    }
    expect(new Set(heard)).toEqual(new Set(["a", "b", "r:1 {x} 🔒"]));
    await unwatch();
  }),

  factNeeding(
    "severalResources",
    "watch() notifies of one resource that was released together with others",
    async (world) => {
      const heard: string[] = [];
      const unwatch = await world.node.watch("b", (resource) => heard.push(resource));
      await releaseUntil(world, world.rival, ["a", "b", "c"], () => heard.length > 0);
      expect(new Set(heard)).toEqual(new Set(["b"]));
      await unwatch();
    },
  ),

  fact("watch() does not notify of resources that release() did not free", async (world) => {
    const heard: string[] = [];
    const unwatch = await world.node.watch(["held", "free", "sentinel"], (resource) => heard.push(resource));
    await world.node.grant("alice", "held");
    await world.rival.release("bob", "held");
    await world.rival.release("bob", "free");
    await releaseUntil(world, world.rival, "sentinel", () => heard.includes("sentinel"));
    expect(new Set(heard)).toEqual(new Set(["sentinel"]));
    await unwatch();
  }),
];

/** The start and the end of watches. */
const watchers: readonly Fact[] = [
  fact("watch() serves several watchers of one resource, of either client", async (world) => {
    const heard = new Set<number>();
    const ends = [
      await world.node.watch("r", () => heard.add(1)),
      await world.node.watch("r", () => heard.add(2)),
      await world.rival.watch("r", () => heard.add(3)),
    ];
    await releaseUntil(world, world.rival, "r", () => heard.size === ends.length);
    for (const unwatch of ends) await unwatch();
  }),

  fact("unwatch() ends the watch, and only that one", async (world) => {
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
  }),

  fact("unwatch() called again does not affect other watches of the resource", async (world) => {
    let heard = 0;
    const unwatchOther = await world.node.watch("r", () => heard++);
    const unwatch = await world.node.watch("r", () => {});
    await unwatch();
    await unwatch();
    await Promise.all([unwatch(), unwatch()]);
    await releaseUntil(world, world.rival, "r", () => heard > 0);
    await unwatchOther();
  }),

  fact("watch() can start again after it has ended", async (world) => {
    const heard: string[] = [];
    await (await world.node.watch("r", () => {}))();
    const unwatch = await world.node.watch("r", (resource) => heard.push(resource));
    await releaseUntil(world, world.rival, "r", () => heard.length > 0);
    await unwatch();
  }),
];

/** Locks do not depend on notifications. */
const hintOnly: readonly Fact[] = [
  fact("watch() neither claims nor blocks, and leaves claims and counters alone", async ({ node, rival }) => {
    const unwatch = await node.watch(["r", "other"], () => {});
    expect(await rival.grant("alice", "r")).toBe(1);
    await node.deny("bob", "r");
    await rival.release("alice", "r");
    expect(await node.grant("bob", "r")).toBe(2);
    await unwatch();
    await node.hold("bob", "r");
  }),

  fact("watch() is not needed for progress: an expired claim is free without a notification", async (world) => {
    const unwatch = await world.node.watch("r", () => {});
    const fence = await claimAndExpire(world, "alice", "r");
    expect(await world.rival.grant("bob", "r")).toEqual(afterExpiry(fence + 1));
    await unwatch();
  }),
];

/** The facts about {@link LockNode.watch}, if the node offers it. */
export const watchFacts: readonly Fact[] = [...notifications, ...watchers, ...hintOnly];

/** The fact that applies if it does not. */
export const noWatchFacts: readonly Fact[] = [
  fact("the node does not offer watch(): waiting clients learn of a release at their next attempt", async (world) => {
    expect([world.node.node.watch, world.rival.node.watch]).toEqual([undefined, undefined]);
  }),
];
