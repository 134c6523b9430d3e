import { expect } from "vitest";
import { type Fact, facts, factsNeeding } from "../fact.ts";
import { type Client, freshOwner } from "../world/client.ts";
import { between } from "../world/expectations.ts";
import type { World } from "../world/world.ts";

const resourcesOfCall = 300;
const claimsAlive = 2_000;

/** How many calls are in flight at a time. */
const callsAtOnce = 16;

/** How many of many names are checked in one more way, besides the first and the last. */
const samples = 20;

/**
 * Runs a step for each item, some at a time, and returns the results in order. Stops early when `limitMs` has passed.
 */
export async function each<Item, Result>(
  items: readonly Item[],
  step: (item: Item) => Promise<Result>,
  limitMs: number = Number.POSITIVE_INFINITY,
): Promise<Result[]> {
  const results: Result[] = [];
  const startMs = performance.now();
  for (let first = 0; first < items.length && performance.now() - startMs < limitMs; first += callsAtOnce) {
    results.push(...(await Promise.all(items.slice(first, first + callsAtOnce).map(step))));
  }
  return results;
}

/** Returns names that sort in the order of their numbers. */
export function numbered(kind: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${kind} ${String(index + 1).padStart(5, "0")}`);
}

/** Fails unless all steps were done, with a message that says which were: "only the first 100 of 300 …". */
function expectAll(done: readonly boolean[], kind: string, what: string): void {
  const count = done.filter(Boolean).length;
  if (count === done.length) return;
  const [first, last] = [done.indexOf(false), done.lastIndexOf(false)];
  let which = `${count}`;
  if (first === count) which = `the first ${count}`;
  else if (last === done.length - count - 1) which = `the last ${count}`;
  throw new Error(`only ${which} of ${done.length} ${kind} ${what}`);
}

async function isDenied(client: Client, resource: string): Promise<boolean> {
  return !(await client.acquire(freshOwner(), resource)).granted;
}

/** The names of one call, the owner of their claims, and the value of their counters. */
interface Group {
  readonly names: readonly string[];
  readonly owner: string;
  readonly fence: number;
}

/** Claims thousands of names, as many as a slow server can handle within the timeout, and returns them with their fences. */
export async function claimMany(
  world: World,
  kind: string,
  count: number,
): Promise<{ groups: Group[]; fences: number[] }> {
  const size = world.can("severalResources") ? Math.min(50, world.resourcesMax) : 1;
  const names = numbered(kind, count);
  const groups = Array.from({ length: Math.ceil(names.length / size) }, (_, index) => ({
    names: names.slice(index * size, (index + 1) * size),
    owner: `owner ${index}`,
    fence: 1_000 + index,
  }));
  const claim = ({ names, owner, fence }: Group) => world.node.grant(owner, names, { fenceHint: fence });
  const fences = await each(groups, claim, world.timeoutMs);
  return { groups: groups.slice(0, fences.length), fences };
}

/** Returns the first, the last and some other items, the same in each run. */
function sampled<Item>(items: readonly Item[]): Item[] {
  const step = Math.ceil(items.length / samples);
  return items.filter((_, index) => index % step === 0 || index === items.length - 1);
}

/** The facts about many resources in a call, and many claims on a server. */
export const sizeFacts: readonly Fact[] = [
  ...factsNeeding(["severalResources"], {
    // A call covers all of hundreds of resources.
    [`acquire(), extend() and release() of ${resourcesOfCall} resources reach each of them`]: async (world) => {
      const { node, rival } = world;
      const names = numbered("resource", Math.min(resourcesOfCall, world.resourcesMax));
      const kind = "resources of one call";
      await node.grant("alice", names, { fenceHint: 10 });
      expectAll(await each(names, (name) => isDenied(rival, name)), kind, "were claimed");
      if (rival.node.inspect) {
        const views = await each(sampled(names), (name) => rival.inspect(name));
        expectAll(
          views.map(({ owner, fence }) => owner === "alice" && fence === 10),
          kind,
          "have the owner and the fence of the grant",
        );
      }

      await rival.hold("alice", names, { fence: 1_000 });
      const fences = await each(names, (name) => node.hold("alice", name));
      expectAll(
        fences.map((fence) => fence === 1_000),
        kind,
        "had their counters raised by extend()",
      );

      await node.free("alice", names);
      const replies = await each(names, (name) => rival.acquire("bob", name));
      expectAll(
        replies.map(({ granted }) => granted),
        kind,
        "were freed by release()",
      );
      expectAll(
        replies.map((reply) => reply.granted && reply.fence > 1_000 && reply.fence <= 1_000 + names.length),
        kind,
        "kept their counters",
      );
    },
  }),
  ...facts({
    // Neither claims nor counters are evicted.
    "thousands of claims are held at once, and thousands of counters are kept": async (world) => {
      const { node, rival } = world;
      const { groups, fences } = await claimMany(world, "claim", claimsAlive);
      const size = groups[0]?.names.length ?? 1;
      const kind = size === 1 ? "live claims" : `calls for ${size} live claims each`;
      // Calls that arrive in another order advance a counter that they share further.
      const highest = 1_000 + 2 * groups.length;
      expect(fences, "the fences of thousands of claims").toEqual(groups.map(({ fence }) => between(fence, highest)));

      const held = await each(groups, ({ names, owner }) => rival.extend(owner, names));
      expectAll(
        held.map((reply) => reply.held),
        kind,
        "are still held: claims are evicted when there are many",
      );
      const claims = sampled(groups.flatMap((group) => group.names.map((name) => ({ ...group, name }))));
      expectAll(await each(claims, ({ name }) => isDenied(rival, name)), "claims that were checked", "are still held");

      const freed = await each(groups, ({ names, owner }) => node.release(owner, names));
      expectAll(freed, kind, "were still there to be released");
      const counters = await each(claims, async ({ name }) => {
        const owner = freshOwner();
        const fence = await rival.grant(owner, name);
        await rival.release(owner, name);
        return fence;
      });
      expectAll(
        counters.map((fence, index) => fence > (claims[index]?.fence ?? 0) && fence <= highest + counters.length),
        "fence counters that were checked",
        "are kept: counters are evicted when there are many",
      );
    },
  }),
];
