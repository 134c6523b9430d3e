import { expect } from "vitest";
import { type Client, freshOwner, type ReleaseTerms, type Resources } from "../client.ts";
import { minuteMs } from "../durations.ts";
import { type Fact, fact, factNeeding } from "../fact.ts";
import type { World } from "../world.ts";

/** Claims the resource, has others be denied with these waiters, one after the other, and releases it: returns who is named. */
async function nextAfter(
  { node, rival }: Pick<World, "node" | "rival">,
  resource: string,
  waiters: readonly string[],
  terms?: ReleaseTerms,
): Promise<string | undefined> {
  const owner = freshOwner();
  await node.grant(owner, resource);
  for (const waiter of waiters) await rival.deny(freshOwner(), resource, { waiter });
  return node.free(owner, resource, terms);
}

/** Claims and releases until nobody is named any more, or more often than anybody stands in line: returns who was named. */
async function namesOf(client: Client, resources: Resources): Promise<readonly string[]> {
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

/** What waiting changes for nobody, whether the node keeps lines or not. */
export const waiterFacts: readonly Fact[] = [
  fact("acquire() with a waiter is granted and denied as without one", async ({ node, rival }) => {
    expect(await node.grant("alice", "r", { waiter: "A" })).toBe(1);
    expect(await node.grant("alice", "r", { waiter: "A" })).toBe(1);
    await rival.deny("bob", "r", { waiter: "B" });
    await rival.deny("bob", "r", { waiter: "A" });
    expect(await node.hold("alice", "r")).toBe(1);
    await node.free("alice", "r");
    expect(await rival.grant("bob", "r", { waiter: "B" })).toBe(2);
  }),

  fact("acquire() grants what is free to whoever asks, whoever is next in line", async ({ node, rival }) => {
    for (const terms of [{}, { waiter: "C" }]) {
      await node.grant("alice", "r");
      await rival.deny("bob", "r", { waiter: "B" });
      await node.free("alice", "r");
      await node.grant("carol", "r", terms);
      await rival.deny("bob", "r", { waiter: "B" });
      await node.free("carol", "r");
    }
  }),

  factNeeding("takeover", "acquire() with takeover is granted, whoever is next in line", async ({ node, rival }) => {
    await node.grant("alice", "r");
    await rival.deny("bob", "r", { waiter: "B" });
    expect(await node.grant("carol", "r", { takeover: "alice", waiter: "C" })).toBe(2);
    await node.free("carol", "r");
  }),

  fact("release() with a waiter, or with undo, frees the owner's claims and only those", async ({ node, rival }) => {
    for (const terms of [{ waiter: "A" }, { undo: true }, { undo: false }]) {
      await node.grant("alice", "r");
      expect(await rival.release("bob", "r", terms)).toBe(false);
      await node.hold("alice", "r");
      expect(await node.release("alice", "r", terms)).toBe(true);
      expect(await node.release("alice", "r", terms)).toBe(false);
      await rival.grant("bob", "r");
      await rival.free("bob", "r");
    }
  }),
];

/** Who is in a line. */
const members: readonly Fact[] = [
  fact("release() names who was denied with a waiter, whichever client asked", async ({ node, rival }) => {
    expect(await nextAfter({ node, rival }, "r", ["B"])).toBe("B");
    expect(await nextAfter({ node: rival, rival: node }, "r", ["C"])).toBe("C");
  }),

  fact("release() names nobody where nobody was denied with a waiter", async ({ node, rival }) => {
    await node.grant("alice", "r", { waiter: "A" });
    await node.grant("alice", "r", { waiter: "A" });
    await rival.deny("bob", "r");
    expect(await node.free("alice", "r")).toBeUndefined();
    expect(await namesOf(rival, "r")).toEqual([]);
  }),

  fact("release() of what is not held names nobody, and takes nobody's turn", async ({ node, rival }) => {
    await node.grant("alice", "r");
    await rival.deny("bob", "r", { waiter: "B" });
    expect(await rival.release("bob", "r")).toBe(false);
    expect(await node.free("alice", "r")).toBe("B");
  }),

  fact("acquire() that is granted takes the waiter out of the line, and nobody else", async ({ node, rival }) => {
    await nextAfter({ node, rival }, "r", ["B", "C"], { undo: true });
    await rival.grant("bob", "r", { waiter: "B" });
    expect(await rival.free("bob", "r")).toBe("C");
    expect(await namesOf(node, "r")).toEqual([]);
  }),

  fact("release() names waiters letter for letter", async (world) => {
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
  }),
];

/** In which order they stand. Values that would come in another order show that it is not by value. */
const order: readonly Fact[] = [
  fact("release() names those who wait in the order of the locks that they came during, each once", async (world) => {
    for (const waiter of ["C", "A", "D", "B"]) await nextAfter(world, "r", [waiter], { undo: true });
    expect(await namesOf(world.rival, "r")).toEqual(["C", "A", "D", "B"]);
  }),

  fact("release() names those who came during one lock in the order of their values", async (world) => {
    await nextAfter(world, "r", ["C", "A", "D", "B"], { undo: true });
    expect(await namesOf(world.rival, "r")).toEqual(["A", "B", "C", "D"]);
  }),

  fact("acquire() denied again leaves the waiter its place in the line", async (world) => {
    await nextAfter(world, "r", ["C", "C"], { undo: true });
    await nextAfter(world, "r", ["B", "C"], { undo: true });
    await nextAfter(world, "r", ["A", "B", "C"], { undo: true });
    expect(await namesOf(world.rival, "r")).toEqual(["C", "B", "A"]);
  }),

  fact("acquire() denied after the waiter was named puts it behind those who wait", async (world) => {
    await nextAfter(world, "r", ["A"], { undo: true });
    expect(await nextAfter(world, "r", ["B"])).toBe("A");
    await nextAfter(world, "r", ["A"], { undo: true });
    expect(await namesOf(world.rival, "r")).toEqual(["B", "A"]);
  }),
];

/** What a release says besides. */
const terms: readonly Fact[] = [
  fact("release() with a waiter puts it behind all who wait, and before who comes later", async (world) => {
    const { node, rival } = world;
    expect(await nextAfter(world, "r", ["B", "C", "D"], { waiter: "A" })).toBe("B");
    // The hint takes the counter ahead, as those of core do.
    await node.grant("erin", "r", { fenceHint: 1_000 });
    await rival.deny("bob", "r", { waiter: "0" });
    await node.free("erin", "r", { undo: true });
    expect(await namesOf(rival, "r")).toEqual(["C", "D", "A", "0"]);
  }),

  fact("release() with a waiter puts it behind the only one that waits", async (world) => {
    expect(await nextAfter(world, "r", ["B"], { waiter: "A" })).toBe("B");
    expect(await namesOf(world.rival, "r")).toEqual(["A"]);
  }),

  fact("release() with a waiter puts it into no line where nobody waits", async (world) => {
    expect(await nextAfter(world, "r", [], { waiter: "A" })).toBeUndefined();
    expect(await namesOf(world.rival, "r")).toEqual([]);
  }),

  fact("release() with undo names nobody, and leaves the line as it is", async (world) => {
    expect(await nextAfter(world, "r", ["B", "C"], { undo: true })).toBeUndefined();
    expect(await nextAfter(world, "r", [], { undo: true })).toBeUndefined();
    expect(await namesOf(world.rival, "r")).toEqual(["B", "C"]);
  }),
];

/** Lines are those of resources. */
const resources: readonly Fact[] = [
  fact("release() names who waits for that resource, and leaves the lines of others", async (world) => {
    await nextAfter(world, "a", ["A"], { undo: true });
    await nextAfter(world, "b", ["B"], { undo: true });
    await nextAfter(world, "{a}", ["C"], { undo: true });
    expect(await namesOf(world.node, "b")).toEqual(["B"]);
    expect(await namesOf(world.node, "a")).toEqual(["A"]);
    expect(await namesOf(world.node, "{a}")).toEqual(["C"]);
  }),

  factNeeding(
    "severalResources",
    "acquire() granted on several resources takes the waiter out of the line of each",
    async (world) => {
      await nextAfter(world, "a", ["B"], { undo: true });
      await nextAfter(world, "b", ["B"], { undo: true });
      await world.rival.grant("bob", ["a", "b"], { waiter: "B" });
      expect(await world.rival.free("bob", ["a", "b"])).toBeUndefined();
      expect([...(await namesOf(world.node, "a")), ...(await namesOf(world.node, "b"))]).toEqual([]);
    },
  ),

  factNeeding(
    "severalResources",
    "release() of several resources takes the first out of the line of each, and names one of them",
    async (world) => {
      const { node, rival } = world;
      for (const waiter of ["A", "B"]) await nextAfter(world, "a", [waiter], { undo: true });
      for (const waiter of ["C", "D"]) await nextAfter(world, "c", [waiter], { undo: true });
      await node.grant("alice", ["a", "b", "c"]);
      expect(["A", "C"]).toContain(await node.free("alice", ["a", "b", "c"]));
      expect(await namesOf(rival, "a")).toEqual(["B"]);
      expect(await namesOf(rival, "b")).toEqual([]);
      expect(await namesOf(rival, "c")).toEqual(["D"]);
    },
  ),
];

/** Several resources, only some of which are in the way. */
const partlyInTheWay: readonly Fact[] = [
  factNeeding(
    "severalResources",
    "acquire() denied on several resources puts the waiter into the line of each that is in the way, and of no other",
    async ({ node, rival }) => {
      await node.grant("alice", "b");
      await node.grant("carol", "c");
      await rival.deny("bob", ["a", "b", "c", "d"], { waiter: "B" });
      expect(await node.free("alice", "b")).toBe("B");
      expect(await node.free("carol", "c")).toBe("B");
      expect(await namesOf(node, "a")).toEqual([]);
      expect(await namesOf(node, "d")).toEqual([]);
    },
  ),

  factNeeding(
    ["severalResources", "takeover"],
    "acquire() denied on several resources takes what takeover holds for free",
    async ({ node, rival }) => {
      await node.grant("alice", "a");
      await node.grant("carol", "b");
      await rival.deny("bob", ["a", "b"], { takeover: "alice", waiter: "B" });
      expect(await node.free("alice", "a")).toBeUndefined();
      expect(await node.free("carol", "b")).toBe("B");
    },
  ),

  factNeeding(
    "severalResources",
    "acquire() denied on several resources leaves the waiter its place where they are in the way",
    async (world) => {
      const { node, rival } = world;
      await nextAfter(world, "b", ["C"], { undo: true });
      await nextAfter(world, "b", ["A"], { undo: true });
      await node.grant("alice", "b");
      await rival.deny("carol", ["a", "b"], { waiter: "C" });
      expect(await node.free("alice", "b")).toBe("C");
      expect(await namesOf(rival, "b")).toEqual(["A"]);
    },
  ),

  factNeeding(
    "severalResources",
    "acquire() denied on several resources takes the waiter, and then the next, out of the lines of the others",
    async (world) => {
      const { node, rival } = world;
      for (const waiter of ["C", "B", "D", "A"]) await nextAfter(world, "a", [waiter], { undo: true });
      await node.grant("alice", "b");
      await rival.deny("bob", ["a", "b"], { waiter: "B" });
      expect(await namesOf(node, "a")).toEqual(["D", "A"]);
    },
  ),

  factNeeding(
    "severalResources",
    "acquire() denied on several resources without a waiter leaves the lines as they are",
    async (world) => {
      const { node, rival } = world;
      for (const waiter of ["B", "A"]) await nextAfter(world, "a", [waiter], { undo: true });
      await node.grant("alice", "b");
      await rival.deny("bob", ["a", "b"]);
      expect(await node.free("alice", "b")).toBeUndefined();
      expect(await namesOf(node, "a")).toEqual(["B", "A"]);
    },
  ),
];

/** The facts about lines, where the node keeps them. */
export const lineFacts: readonly Fact[] = [...members, ...order, ...terms, ...resources, ...partlyInTheWay];

/** Those about what watchers hear, where it offers `watch`, too. */
export const watchLineFacts: readonly Fact[] = [
  fact("watch() names whom the reply of release() names, for each resource, and nobody else", async (world) => {
    const replied = new Set<string>();
    const heard = new Set<string>();
    const unwatch = await world.rival.watch(["a", "b"], (resource, next) => {
      if (next !== undefined) heard.add(`${resource}: ${next}`);
    });
    // A hint may be lost: there are others.
    await world.eventually("the watcher hears of turns for both", async () => {
      for (const resource of ["a", "b"]) {
        await nextAfter(world, resource, [`for ${resource} since ${replied.size}`], { undo: true });
        replied.add(`${resource}: ${await nextAfter(world, resource, [])}`);
      }
      return ["a", "b"].every((resource) => [...heard].some((turn) => turn.startsWith(resource)));
    });
    expect([...replied]).toEqual(expect.arrayContaining([...heard]));
    await unwatch();
  }),

  factNeeding(
    "severalResources",
    "watch() names whose turn it is at what is free of several resources that were denied",
    async (world) => {
      const { node, rival } = world;
      const heard = new Set<string>();
      const unwatch = await rival.watch(["free", "held"], (resource, next) => heard.add(`${resource}: ${next}`));
      await node.grant("alice", "held");
      // A hint may be lost: there are others.
      await world.eventually("the watcher hears whose turn it is", async () => {
        await nextAfter(world, "free", ["B"], { undo: true });
        await rival.deny("carol", ["free", "held"], { waiter: "C" });
        return heard.has("free: B");
      });
      expect([...heard]).toEqual(["free: B"]);
      await unwatch();
    },
  ),

  fact("watch() names nobody where a release undoes", async (world) => {
    const heard = new Set<string>();
    const unwatch = await world.rival.watch(["undone", "sentinel"], (_, next) => heard.add(`${next}`));
    await nextAfter(world, "undone", ["A"], { undo: true });
    await world.eventually("the watcher hears of another turn", async () => {
      await nextAfter(world, "sentinel", ["B"]);
      return heard.has("B");
    });
    expect(heard).not.toContain("A");
    await unwatch();
  }),
];

/** Those about their end, where the clock is in the suite's hands. */
export const advanceLineFacts: readonly Fact[] = [
  fact("a line is forgotten a minute after somebody has last entered it", async (world) => {
    await nextAfter(world, "r", ["B"], { undo: true });
    await world.pass(minuteMs);
    expect(await namesOf(world.rival, "r")).toEqual([]);
  }),
];

/** What is true where it keeps none. */
export const noLineFacts: readonly Fact[] = [
  fact("the node keeps no line: waiting clients are not told whose turn it is", async (world) => {
    expect(await nextAfter(world, "r", ["B", "C"], { waiter: "A" })).toBeUndefined();
    expect(await nextAfter(world, "r", [], { undo: true })).toBeUndefined();
    expect(await namesOf(world.rival, "r")).toEqual([]);
  }),
];
