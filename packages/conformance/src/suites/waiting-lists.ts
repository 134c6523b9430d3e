import { expect } from "vitest";
import { type Fact, facts, factsNeeding } from "../fact.ts";
import { type Client, freshOwner, type ReleaseTerms, type Resources } from "../world/client.ts";
import { minuteMs } from "../world/durations.ts";
import type { Clients, World } from "../world/world.ts";

/**
 * Claims the resource, sends claims with these waiters, which are denied, releases it, and returns the named waiter.
 */
async function nextAfter(
  { node, rival }: Clients,
  resource: string,
  waiters: readonly string[],
  terms?: ReleaseTerms,
): Promise<string | undefined> {
  const owner = freshOwner();
  await node.grant(owner, resource);
  for (const waiter of waiters) await rival.deny(freshOwner(), resource, { waiter });
  return node.free(owner, resource, terms);
}

/** Claims and releases until no waiter is named, at most ten times, and returns the named waiters. */
export async function namesOf(client: Client, resources: Resources): Promise<readonly string[]> {
  const names: string[] = [];
  for (let releases = 0; releases < 10; releases++) {
    const owner = freshOwner();
    await client.grant(owner, resources);
    const next = await client.free(owner, resources);
    if (next === undefined) break;
    names.push(next);
  }
  return names;
}

/** Returns what a watcher hears of next waiters until `repeat` is content. It repeats, as a notification may be lost. */
export async function waitersHeard(
  { rival, eventually }: Pick<World, "rival" | "eventually">,
  resources: readonly string[],
  repeat: (heard: ReadonlySet<string>) => Promise<boolean>,
): Promise<readonly string[]> {
  const heard = new Set<string>();
  const unwatch = await rival.watch(resources, (resource, next) => next && heard.add(`${resource}: ${next}`));
  await eventually("the watcher is notified", () => repeat(heard));
  await unwatch();
  return [...heard].sort();
}

/** The facts about waiting lists, if the node keeps them. */
export const waitingListFacts: readonly Fact[] = [
  ...facts({
    "acquire() grants a free resource to any client, whichever waiter is next": async (world) => {
      const { node, rival } = world;
      for (const terms of [{}, { waiter: "C" }]) {
        await node.grant("alice", "r");
        await rival.deny("bob", "r", { waiter: "B" });
        await node.free("alice", "r");
        const fence = await node.grant("carol", "r", terms);
        expect(await node.grant("carol", "r", terms), "sent again").toBe(fence);
        await rival.deny("bob", "r", { waiter: "B" });
        if (world.can("takeover"))
          expect(await node.grant("dave", "r", { ...terms, takeover: "carol" })).toBe(fence + 1);
        await node.free(world.can("takeover") ? "dave" : "carol", "r");
      }
    },

    "release() with a waiter, or with undo, frees only the owner's claims": async ({ node, rival }) => {
      for (const terms of [{ waiter: "A" }, { undo: true }, { undo: false }]) {
        await node.grant("alice", "r");
        expect(await rival.release("bob", "r", terms)).toBe(false);
        await node.hold("alice", "r");
        expect(await node.free("alice", "r", terms), "the next waiter, although nobody waits").toBeUndefined();
        expect(await node.release("alice", "r", terms)).toBe(false);
        await rival.grant("bob", "r");
        await rival.free("bob", "r");
      }
    },
  }),
  ...factsNeeding(["waitingLists"], {
    // The members of a list.
    "release() names the waiter of a denied acquire(), through either client, and no other": async ({
      node,
      rival,
    }) => {
      await node.grant("alice", "r", { waiter: "A" });
      await node.grant("alice", "r", { waiter: "A" });
      await rival.deny("bob", "r");
      expect(await node.free("alice", "r")).toBeUndefined();
      expect(await namesOf(rival, "r")).toEqual([]);
      expect(await nextAfter({ node, rival }, "r", ["B"])).toBe("B");
      expect(await nextAfter({ node: rival, rival: node }, "r", ["C"])).toBe("C");
      await node.grant("alice", "r");
      await rival.deny("bob", "r", { waiter: "D" });
      expect(await rival.release("bob", "r"), "a release of what the owner does not hold").toBe(false);
      expect(await node.free("alice", "r")).toBe("D");
    },

    "acquire() that is granted removes its waiter from the waiting list, and no other": async ({ node, rival }) => {
      await nextAfter({ node, rival }, "r", ["B", "C"], { undo: true });
      await rival.grant("bob", "r", { waiter: "B" });
      expect(await rival.free("bob", "r")).toBe("C");
      expect(await namesOf(node, "r")).toEqual([]);
    },

    "release() names waiters exactly as they were given": async (world) => {
      const waiters = [
        "B",
        "b",
        "B ",
        " B",
        "B:1",
        "{B}",
        "=B",
        "-1",
        "0",
        "01",
        "nil",
        "'",
        '"',
        "\n",
        "é",
        "e\u0301",
        "🔒",
      ];
      for (const waiter of [...waiters, "x".repeat(300)]) expect(await nextAfter(world, "r", [waiter])).toBe(waiter);
      await nextAfter(world, "r", waiters.slice(0, 8), { undo: true });
      expect(new Set(await namesOf(world.node, "r"))).toEqual(new Set(waiters.slice(0, 8)));
    },

    // The order of a list. It differs from the order of the values, so that an order by value shows.
    "release() names waiters in the order of the fence counters at which they joined, each once": async (world) => {
      for (const waiter of ["C", "A", "D", "B"]) await nextAfter(world, "r", [waiter], { undo: true });
      expect(await namesOf(world.rival, "r")).toEqual(["C", "A", "D", "B"]);
      // One that was named joins as a new one.
      for (const waiter of ["E", "C"]) await nextAfter(world, "r", [waiter], { undo: true });
      expect(await namesOf(world.rival, "r")).toEqual(["E", "C"]);
    },

    "release() names waiters that joined at the same fence counter in ascending order": async (world) => {
      await nextAfter(world, "r", ["C", "A", "D", "B"], { undo: true });
      expect(await namesOf(world.rival, "r")).toEqual(["A", "B", "C", "D"]);
    },

    "acquire() denied again keeps its waiter's place in the waiting list": async (world) => {
      await nextAfter(world, "r", ["C", "C"], { undo: true });
      await nextAfter(world, "r", ["B", "C"], { undo: true });
      await nextAfter(world, "r", ["A", "B", "C"], { undo: true });
      expect(await namesOf(world.rival, "r")).toEqual(["C", "B", "A"]);
    },

    // The `waiter` and the `undo` of a release.
    "release() with a waiter puts it behind all others, and ahead of later ones": async ({ node, rival }) => {
      expect(await nextAfter({ node, rival }, "r", ["B", "C", "D"], { waiter: "A" })).toBe("B");
      // This hint advances the counter by more than one, as core's hints do.
      await node.grant("erin", "r", { fenceHint: 1_000 });
      await rival.deny("bob", "r", { waiter: "0" });
      await node.free("erin", "r", { undo: true });
      expect(await namesOf(rival, "r")).toEqual(["C", "D", "A", "0"]);
      expect(await nextAfter({ node, rival }, "behind one", ["B"], { waiter: "A" })).toBe("B");
      expect(await namesOf(rival, "behind one")).toEqual(["A"]);
    },

    "release() with a waiter that is in the list already keeps it there once": async (world) => {
      expect(await nextAfter(world, "r", ["A", "B"], { waiter: "B" })).toBe("A");
      expect(await namesOf(world.rival, "r")).toEqual(["B"]);
    },

    "release() with a waiter does not add it to an empty waiting list": async (world) => {
      expect(await nextAfter(world, "r", [], { waiter: "A" })).toBeUndefined();
      expect(await namesOf(world.rival, "r")).toEqual([]);
    },

    "release() with undo names no waiter, and does not change the waiting list": async (world) => {
      expect(await nextAfter(world, "r", ["B", "C"], { undo: true })).toBeUndefined();
      expect(await nextAfter(world, "r", [], { undo: true })).toBeUndefined();
      expect(await namesOf(world.rival, "r")).toEqual(["B", "C"]);
    },

    // Each resource has a separate list.
    "release() names a waiter of that resource, and does not change the waiting lists of others": async (world) => {
      await nextAfter(world, "a", ["A"], { undo: true });
      await nextAfter(world, "b", ["B"], { undo: true });
      await nextAfter(world, "{a}", ["C"], { undo: true });
      expect(await namesOf(world.node, "b")).toEqual(["B"]);
      expect(await namesOf(world.node, "a")).toEqual(["A"]);
      expect(await namesOf(world.node, "{a}")).toEqual(["C"]);
    },
  }),
  ...factsNeeding(["waitingLists", "severalResources"], {
    "acquire() granted on several resources removes its waiter from the waiting list of each": async (world) => {
      await nextAfter(world, "a", ["B"], { undo: true });
      await nextAfter(world, "b", ["B"], { undo: true });
      await world.rival.grant("bob", ["a", "b"], { waiter: "B" });
      expect(await world.rival.free("bob", ["a", "b"])).toBeUndefined();
      expect([...(await namesOf(world.node, "a")), ...(await namesOf(world.node, "b"))]).toEqual([]);
    },

    "release() of several resources removes the first waiter from the list of each, and names one of them": async ({
      node,
      rival,
    }) => {
      for (const waiter of ["A", "B"]) await nextAfter({ node, rival }, "a", [waiter], { undo: true });
      for (const waiter of ["C", "D"]) await nextAfter({ node, rival }, "c", [waiter], { undo: true });
      await node.grant("alice", ["a", "b", "c"]);
      expect(["A", "C"]).toContain(await node.free("alice", ["a", "b", "c"]));
      expect(await namesOf(rival, "a")).toEqual(["B"]);
      expect(await namesOf(rival, "b")).toEqual([]);
      expect(await namesOf(rival, "c")).toEqual(["D"]);
    },

    // Several resources, only some of which are held.
    "acquire() denied on several resources adds its waiter to the list of each that is held, and to no other": async ({
      node,
      rival,
    }) => {
      await node.grant("alice", "b");
      await node.grant("carol", "c");
      await rival.deny("bob", ["a", "b", "c", "d"], { waiter: "B" });
      expect(await node.free("alice", "b")).toBe("B");
      expect(await node.free("carol", "c")).toBe("B");
      expect(await namesOf(node, "a")).toEqual([]);
      expect(await namesOf(node, "d")).toEqual([]);
    },

    "acquire() denied on several resources keeps its waiter's place in the lists of those that are held": async ({
      node,
      rival,
    }) => {
      await nextAfter({ node, rival }, "b", ["C"], { undo: true });
      await nextAfter({ node, rival }, "b", ["A"], { undo: true });
      await node.grant("alice", "b");
      await rival.deny("carol", ["a", "b"], { waiter: "C" });
      expect(await node.free("alice", "b")).toBe("C");
      expect(await namesOf(rival, "b")).toEqual(["A"]);
    },

    "acquire() denied on several resources removes its waiter, and then the next, from the lists of the others":
      async ({ node, rival }) => {
        for (const waiter of ["C", "B", "D", "A"]) await nextAfter({ node, rival }, "a", [waiter], { undo: true });
        await node.grant("alice", "b");
        await rival.deny("bob", ["a", "b"], { waiter: "B" });
        expect(await namesOf(node, "a")).toEqual(["D", "A"]);
      },

    "acquire() denied on several resources without a waiter does not change the waiting lists": async (world) => {
      const { node, rival } = world;
      for (const waiter of ["B", "A"]) await nextAfter(world, "a", [waiter], { undo: true });
      await node.grant("alice", "b");
      await rival.deny("bob", ["a", "b"]);
      expect(await node.free("alice", "b")).toBeUndefined();
      expect(await namesOf(node, "a")).toEqual(["B", "A"]);
    },
  }),
  ...factsNeeding(["waitingLists", "severalResources", "takeover"], {
    "acquire() denied on several resources does not add its waiter to the list of a resource that it may take over":
      async ({ node, rival }) => {
        await node.grant("alice", "a");
        await node.grant("carol", "b");
        await rival.deny("bob", ["a", "b"], { takeover: "alice", waiter: "B" });
        expect(await node.free("alice", "a")).toBeUndefined();
        expect(await node.free("carol", "b")).toBe("B");
      },
  }),
  ...factsNeeding(["waitingLists", "watch"], {
    "watch() names the same waiters as the replies of release(), for each resource, and no others": async (world) => {
      const replied = new Set<string>();
      const heard = await waitersHeard(world, ["a", "b"], async (names) => {
        for (const resource of ["a", "b"]) {
          await nextAfter(world, resource, [`for ${resource} since ${replied.size}`], { undo: true });
          replied.add(`${resource}: ${await nextAfter(world, resource, [])}`);
        }
        return ["a", "b"].every((resource) => [...names].some((named) => named.startsWith(resource)));
      });
      expect([...replied]).toEqual(expect.arrayContaining([...heard]));
    },

    "watch() names no waiter for a release with undo": async (world) => {
      await nextAfter(world, "undone", ["A"], { undo: true });
      const heard = await waitersHeard(world, ["undone", "sentinel"], async (names) => {
        await nextAfter(world, "undone", [], { undo: true });
        await nextAfter(world, "sentinel", ["B"]);
        return names.has("sentinel: B");
      });
      expect(heard).toEqual(["sentinel: B"]);
    },
  }),
  ...factsNeeding(["waitingLists", "watch", "severalResources"], {
    "watch() names the next waiter of a free resource when a claim on it and on a held one is denied": async (
      world,
    ) => {
      await world.node.grant("alice", "held");
      const heard = await waitersHeard(world, ["free", "held"], async (names) => {
        await nextAfter(world, "free", ["B"], { undo: true });
        await world.rival.deny("carol", ["free", "held"], { waiter: "C" });
        return names.has("free: B");
      });
      expect(heard).toEqual(["free: B"]);
    },
  }),
  ...factsNeeding(["waitingLists", "advance"], {
    "a waiting list is dropped a minute after a waiter was last added to it": async (world) => {
      await nextAfter(world, "r", ["B"], { undo: true });
      await world.pass(minuteMs);
      expect(await namesOf(world.rival, "r")).toEqual([]);
    },
  }),
];
