import { expect } from "vitest";
import { type Fact, factsNeeding } from "../fact.ts";
import { type Client, freshOwner, shared } from "../world/client.ts";
import { lastingMs } from "../world/durations.ts";
import type { Clients, World } from "../world/world.ts";
import { join } from "./sharing.ts";
import { namesOf, waitersHeard } from "./waiting-lists.ts";

/** Adds waiters to the list of a resource that is held. */
async function read(client: Client, resource: string, ...waiters: readonly string[]): Promise<void> {
  for (const waiter of waiters) await client.deny(freshOwner(), resource, { ...shared, waiter });
}

async function write(client: Client, resource: string, ...waiters: readonly string[]): Promise<void> {
  for (const waiter of waiters) await client.deny(freshOwner(), resource, { waiter });
}

/** Puts readers and writers into the list of a resource, and leaves it free. */
async function enlist(
  { node, rival }: Clients,
  resource: string,
  { readers = [], writers = [] }: { readers?: readonly string[]; writers?: readonly string[] },
): Promise<void> {
  const owner = freshOwner();
  await node.grant(owner, resource);
  await write(rival, resource, ...writers);
  await read(rival, resource, ...readers);
  await node.free(owner, resource, { undo: true });
}

/** How long a fact may take after a writer was denied, in milliseconds, so that the node still favours that writer. */
const favouredMs = 500;

/** Proves what holds soon after a writer was denied. Tries again, with another resource, if the machine stalled. */
async function promptly(world: World, prove: (resource: string) => Promise<void>): Promise<void> {
  for (let attempt = 0; attempt < 10; attempt++) {
    const startMs = world.elapsedMs();
    const inTime = (): boolean => world.elapsedMs() - startMs < favouredMs;
    try {
      await prove(`attempt ${attempt}`);
    } catch (error) {
      if (inTime()) throw error;
    }
    if (inTime()) return;
  }
  throw new Error(`the machine is too slow: a few calls took longer than ${favouredMs} ms`);
}

const starved =
  "readers that follow each other without a gap keep a writer out: the node lets them join although a writer waits";

/** The facts about the turns of readers and writers, if the node keeps waiting lists. */
export const turnFacts: readonly Fact[] = [
  ...factsNeeding(["waitingLists", "sharing"], {
    // The order in which waiters are named.
    "release() of an exclusive claim removes all waiters of shared requests, and names one of them": async (world) => {
      await enlist(world, "r", { readers: ["D", "B", "C"], writers: ["A"] });
      await world.node.grant("alice", "r");
      expect(["B", "C", "D"]).toContain(await world.node.free("alice", "r"));
      expect(await namesOf(world.rival, "r"), "the waiters that were left").toEqual(["A"]);
    },

    "release() names waiters of shared requests before exclusive ones that joined earlier": async (world) => {
      await enlist(world, "r", { writers: ["A"] });
      await enlist(world, "r", { readers: ["B"] });
      await enlist(world, "r", { writers: ["C"] });
      expect(await namesOf(world.rival, "r")).toEqual(["B", "A", "C"]);
    },

    "release() of the last shared claim names the first exclusive waiter before waiters of shared requests": async (
      world,
    ) => {
      await enlist(world, "r", { readers: ["A"], writers: ["C"] });
      await enlist(world, "r", { readers: ["A"], writers: ["B"] });
      await join(world.node, "alice", "r");
      expect(await world.node.free("alice", "r")).toBe("C");
      expect(await namesOf(world.rival, "r")).toEqual(["A", "B"]);
    },

    "release() of the last shared claim names waiters of shared requests if nobody else waits": async (world) => {
      await enlist(world, "r", { readers: ["A", "B"] });
      await join(world.node, "alice", "r");
      expect(["A", "B"]).toContain(await world.node.free("alice", "r"));
      expect(await namesOf(world.rival, "r")).toEqual([]);
    },

    "release() of a shared claim names no waiter while another owner shares the resource": async ({ node, rival }) => {
      for (const owner of ["alice", "bob", "carol"]) await join(node, owner, "r");
      await write(rival, "r", "A");
      expect(await node.free("bob", "r")).toBeUndefined();
      expect(await rival.free("carol", "r", { waiter: "B" })).toBeUndefined();
      expect(await node.free("alice", "r")).toBe("A");
      expect(await namesOf(rival, "r")).toEqual([]);
    },

    "release() of the last shared claim with undo, or with a waiter, does so as for an exclusive one": async ({
      node,
      rival,
    }) => {
      await join(node, "alice", "r");
      await write(rival, "r", "B");
      expect(await node.free("alice", "r", { undo: true })).toBeUndefined();
      await join(node, "alice", "r");
      expect(await node.free("alice", "r", { waiter: "A" })).toBe("B");
      expect(await namesOf(rival, "r")).toEqual(["A"]);
    },

    "acquire() treats waiters of shared and of exclusive requests as different, even with one value": async (world) => {
      const { rival } = world;
      await enlist(world, "shared", { readers: ["A", "B"], writers: ["A"] });
      await rival.grant("bob", "shared", { ...shared, waiter: "A" });
      expect(await rival.free("bob", "shared"), "the exclusive waiter after its shared request was granted").toBe("A");
      expect(await namesOf(rival, "shared")).toEqual(["B"]);
      await enlist(world, "exclusive", { readers: ["A"], writers: ["A"] });
      await rival.grant("bob", "exclusive", { waiter: "A" });
      expect(await rival.free("bob", "exclusive"), "the shared one after its exclusive request was granted").toBe("A");
      expect(await namesOf(rival, "exclusive")).toEqual([]);
      await enlist(world, "both", { readers: ["A", "B"], writers: ["A", "C"] });
      await rival.grant("bob", "both", { waiter: "A" });
      expect(["A", "B"]).toContain(await rival.free("bob", "both"));
      expect(await namesOf(rival, "both")).toEqual(["C"]);
    },

    // Readers do not keep a writer out.
    "acquire() of a shared claim does not join once an exclusive request with a waiter was denied": (world) =>
      promptly(world, async (resource) => {
        const { node, rival } = world;
        for (const owner of ["alice", "bob"]) await join(node, owner, resource);
        await write(rival, resource, "A");
        for (const client of [node, rival]) await client.deny("carol", resource, shared, starved);
        await join(node, "bob", resource); // sent again
        for (const owner of ["alice", "bob"]) await node.hold(owner, resource, shared);
        await node.free("alice", resource);
        await node.deny("carol", resource, shared, starved);
      }),

    "acquire() of a shared claim denied in favour of a writer adds its waiter, whose turn comes next": (world) =>
      promptly(world, async (resource) => {
        const { node, rival } = world;
        await join(node, "alice", resource);
        await write(rival, resource, "A");
        await read(rival, resource, "B");
        expect(await node.free("alice", resource)).toBe("A");
        await rival.grant("carol", resource, { waiter: "A" });
        expect(await rival.free("carol", resource)).toBe("B");
      }),

    "acquire() of shared claims is granted to all readers after an exclusive claim, whoever else waits": async ({
      node,
      rival,
    }) => {
      await node.grant("alice", "r");
      await write(rival, "r", "A");
      await read(rival, "r", "B", "C");
      await node.free("alice", "r");
      const late = "a writer that waited for an exclusive claim keeps out the readers whose turn it is";
      for (const waiter of ["B", "C"]) await rival.grant(freshOwner(), "r", { ...shared, waiter }, late);
    },

    "acquire() of shared claims is granted again once an exclusive request was": async ({ node, rival }) => {
      await join(node, "alice", "r");
      await write(rival, "r", "A");
      await node.free("alice", "r");
      await rival.grant("bob", "r", { waiter: "A" });
      await rival.free("bob", "r");
      const late = "the node still favours a writer that had its turn";
      for (const owner of ["carol", "dave", "erin"]) await node.grant(owner, "r", shared, late);
    },
  }),
  ...factsNeeding(["waitingLists", "sharing", "severalResources"], {
    "acquire() denied on several resources removes all waiters of shared requests from the lists of free ones": async (
      world,
    ) => {
      await enlist(world, "a", { readers: ["C", "D"], writers: ["B"] });
      await world.node.grant("alice", "b");
      await world.rival.deny("carol", ["a", "b"], { ...shared, waiter: "C" });
      expect(await namesOf(world.rival, "a")).toEqual(["B"]);
      expect(await world.node.free("alice", "b")).toBe("C");
    },

    // The waiters of shared requests for several resources.
    "acquire() of a shared claim denied on several resources adds its waiter to the list of each that is held, even shared":
      async ({ node, rival }) => {
        await join(node, "alice", "a");
        await node.grant("bob", "b");
        await rival.deny("carol", ["a", "b", "c"], { ...shared, waiter: "A" });
        expect(await node.free("alice", "a")).toBe("A");
        expect(await node.free("bob", "b")).toBe("A");
        expect(await namesOf(rival, "c")).toEqual([]);
      },
  }),
  ...factsNeeding(["waitingLists", "sharing", "takeover"], {
    "acquire() with takeover of a shared claim is denied likewise, so that sharers do not hand over forever": (world) =>
      promptly(world, async (resource) => {
        const { node, rival } = world;
        await join(node, "alice", resource);
        await write(rival, resource, "A");
        await node.deny("bob", resource, { ...shared, takeover: "alice" }, starved);
        await node.hold("alice", resource, shared);
        await rival.grant("carol", resource, { takeover: "alice" });
      }),
  }),
  ...factsNeeding(["waitingLists", "watch", "sharing"], {
    "watch() names all waiters of shared requests together, and no exclusive one with them": async (world) => {
      const heard = await waitersHeard(world, ["r"], async (names) => {
        await enlist(world, "r", { readers: ["B", "C", "D"], writers: ["A"] });
        await world.node.grant("alice", "r");
        await world.node.free("alice", "r");
        return names.size >= 3;
      });
      expect(heard).toEqual(["r: B", "r: C", "r: D"]);
    },

    "watch() names the exclusive waiter whose turn comes after the last shared claim": async (world) => {
      const heard = await waitersHeard(world, ["r"], async (names) => {
        await enlist(world, "r", { readers: ["B"], writers: ["A"] });
        await join(world.node, "alice", "r");
        await world.node.free("alice", "r");
        return names.size > 0;
      });
      expect(heard).toEqual(["r: A"]);
    },
  }),
];

/** The fact about the end of the time for which a node favours a writer. */
export const lastingTurnFacts: readonly Fact[] = factsNeeding(["sharing", "waitingLists"], {
  "sharers can join again some seconds after an exclusive request with a waiter was denied": async (world) => {
    const { node, rival } = world;
    for (const owner of ["alice", "carol"]) await join(node, owner, "r");
    await write(rival, "r", "A");
    await world.pass(lastingMs);
    const mistake = "a writer that has gone keeps readers out: the node favours it for longer than two seconds";
    await node.grant("bob", "r", shared, mistake);
  },
});
