import { setImmediate } from "node:timers/promises";
import { expect } from "vitest";
import { type Fact, facts, factsNeeding } from "../fact.ts";
import { type ClaimTerms, type Client, freshOwner, shared } from "../world/client.ts";
import { nextFence, type World } from "../world/world.ts";

const rounds = 20;
const rivals = 100;
const grantsOfStorm = 80;

/** Bounds a worker's attempts, far above the number that it needs. */
const attemptsMax = 20_000;

/** Sends a request for each of many fresh owners at once, through both clients, and returns the owners that won. */
async function winnersOf(
  { node, rival }: World,
  count: number,
  send: (client: Client, owner: string) => Promise<boolean>,
): Promise<string[]> {
  const owners = Array.from({ length: count }, freshOwner);
  const hasWon = await Promise.all(owners.map((owner, index) => send(index % 2 === 0 ? node : rival, owner)));
  return owners.filter((_, index) => hasWon[index]);
}

/** Returns the winner of a round. Fails unless there is exactly one. */
function only(winners: readonly string[]): string {
  expect(winners, "winners of one round").toHaveLength(1);
  return winners[0] as string;
}

/** The holders of a resource, and the highest fences so far: of all claims, and of exclusive ones. */
interface Place {
  writer: string | undefined;
  readonly readers: Set<string>;
  highest: number;
  highestOfWriters: number;
}

/**
 * Runs a worker for each list of resources, through alternate clients, until enough grants. Fails unless exclusive claims
 * are alone and fences are in order.
 *
 * @param isShared which of a worker's claims are shared
 */
export async function storm(
  world: World,
  lists: readonly (readonly string[])[],
  isShared: (turn: number) => boolean = () => false,
): Promise<void> {
  const fresh = (): Place => ({ writer: undefined, readers: new Set(), highest: 0, highestOfWriters: 0 });
  const places = new Map(lists.flat().map((name) => [name, fresh()]));
  const notAlone = "an exclusive claim and another one are in force together";
  let grantsLeft = world.times(grantsOfStorm);
  const work = async (resources: readonly string[], index: number): Promise<void> => {
    const client = index % 2 === 0 ? world.node : world.rival;
    const own = resources.map((name) => places.get(name) as Place);
    let turn = index;
    for (let attempt = 0; grantsLeft > 0 && attempt < attemptsMax; attempt++) {
      const [owner, mode] = [freshOwner(), isShared(turn) ? shared : {}];
      const reply = await client.acquire(owner, resources, mode);
      if (!reply.granted) {
        await setImmediate();
        continue;
      }
      grantsLeft--;
      for (const place of own) {
        expect(place.writer, notAlone).toBeUndefined();
        const below = mode === shared ? place.highestOfWriters : place.highest;
        expect(reply.fence, "the fence, which must exceed those of earlier claims").toBeGreaterThan(below);
        if (mode !== shared) expect([...place.readers], notAlone).toEqual([]);
        if (mode === shared) place.readers.add(owner);
        else place.writer = owner;
      }
      let { fence } = reply;
      // As core does for a claim whose nodes granted different fences.
      if (turn++ % 2 === 0) fence = await client.hold(owner, resources, { ...mode, fence: fence + 1 });
      await setImmediate();
      for (const place of own) {
        place.highest = Math.max(place.highest, fence);
        if (mode !== shared) place.highestOfWriters = Math.max(place.highestOfWriters, fence);
        if (mode !== shared) place.writer = undefined;
        place.readers.delete(owner);
      }
      await client.free(owner, resources);
    }
  };
  await Promise.all(lists.map(work));
  expect(grantsLeft, "missing grants").toBeLessThanOrEqual(0);
}

/** Sends claims, each at once with its release, and fails unless the node holds what the replies say. */
export async function claimAndReleaseAtOnce(
  world: Pick<World, "node" | "rival" | "times">,
  terms: Pick<ClaimTerms, "shared">,
  mistake: string,
): Promise<void> {
  const { node, rival } = world;
  for (let round = 0; round < world.times(rounds); round++) {
    const owner = freshOwner();
    // An adapter may drop a request that is cancelled before it is sent: it then rejects, and nothing is known.
    const claim = node.acquire(owner, "r", terms).catch(() => undefined);
    const [reply, released] = await Promise.all([claim, node.release(owner, "r")]);
    if (reply !== undefined) {
      expect(reply.granted, mistake).toBe(true);
      const { held } = await rival.extend(owner, "r", terms);
      const freed = released ? "the claim" : "nothing";
      expect(held, `held, although the release replied that it freed ${freed}`).toBe(!released);
    }
    await node.release(owner, "r");
  }
}

/** The facts about calls that arrive at the same time. */
export const concurrencyFacts: readonly Fact[] = [
  ...facts({
    // One of many calls sent at once wins: each call is atomic on the node.
    [`acquire() grants exactly one of ${rivals} claims sent at once, in every round`]: async (world) => {
      for (let round = 0; round < world.times(rounds); round++) {
        const claim = async (client: Client, owner: string) => (await client.acquire(owner, "r")).granted;
        const winner = only(await winnersOf(world, rivals, claim));
        // One step for each grant: the denied claims did not change the counter.
        expect(await world.node.hold(winner, "r")).toBe(round + 1);
        await world.rival.release(winner, "r");
      }
    },

    "acquire() grants both copies of a request that arrives twice at once, with one fence": async (world) => {
      for (let round = 0; round < world.times(rounds); round++) {
        const owner = freshOwner();
        const copies = [world.node.grant(owner, "r"), world.rival.grant(owner, "r")];
        expect(await Promise.all(copies)).toEqual([round + 1, round + 1]);
        await world.node.release(owner, "r");
      }
    },

    "acquire() and release() of one owner sent at once take effect in either order, as their replies say": (world) =>
      claimAndReleaseAtOnce(world, {}, "the resource is free"),

    // Many workers, each at its own pace, never hold the same resource at the same time.
    "acquire() and release() exclude concurrent workers and keep fences increasing": async (world) => {
      const names = [["a"], ["b"], ["c"]];
      const pairs = [
        ["a", "b"],
        ["b", "c"],
        ["a", "c"],
      ];
      const lists = world.can("severalResources") ? [...names, ...pairs] : names;
      // Two workers for each list, one of them through each client.
      await storm(
        world,
        lists.flatMap((list) => [list, list]),
      );
    },

    "release() sent many times at once frees no claim of the next owner": async (world) => {
      for (let round = 0; round < world.times(rounds); round++) {
        const [owner, next] = [freshOwner(), freshOwner()];
        await world.node.grant(owner, "r");
        const releases = Array.from({ length: 10 }, (_, index) =>
          (index % 2 === 0 ? world.node : world.rival).release(owner, "r"),
        );
        const claimed = world.eventually("the next owner holds it", async () => {
          return (await world.rival.acquire(next, "r")).granted;
        });
        const [replies] = await Promise.all([Promise.all(releases), claimed]);
        expect(replies.filter(Boolean), "releases that freed the claim").toHaveLength(1);
        await world.node.hold(next, "r");
        await world.node.release(next, "r");
      }
    },
  }),
  ...factsNeeding(["takeover"], {
    "acquire() with takeover grants exactly one of many claims sent at once": async (world) => {
      let holder = freshOwner();
      expect(await world.node.grant(holder, "r")).toBe(1);
      for (let round = 0; round < world.times(rounds); round++) {
        const takeover = holder;
        const claim = async (client: Client, owner: string) => (await client.acquire(owner, "r", { takeover })).granted;
        holder = only(await winnersOf(world, 20, claim));
        expect(await world.node.hold(holder, "r")).toBe(round + 2);
      }
    },

    "acquire() with takeover and the release of the old owner sent at once leave the claim to the new owner": async (
      world,
    ) => {
      let [owner, next] = [freshOwner(), freshOwner()];
      await world.node.grant(owner, "r");
      for (let round = 0; round < world.times(rounds); round++) {
        const release = world.node.release(owner, "r");
        await Promise.all([release, world.node.grant(next, "r", { takeover: owner })]);
        await world.rival.hold(next, "r");
        [owner, next] = [next, freshOwner()];
      }
    },
  }),
  ...factsNeeding(["rejoin"], {
    "extend() with rejoin rejoins exactly one of many owners at once": async (world) => {
      for (let round = 0; round < world.times(rounds); round++) {
        const rejoin = async (client: Client, owner: string): Promise<boolean> => {
          const reply = await client.extend(owner, "r", { rejoin: true });
          return !reply.held && reply.rejoined;
        };
        const winner = only(await winnersOf(world, 20, rejoin));
        expect(await world.node.hold(winner, "r")).toBe(round + 1);
        await world.rival.release(winner, "r");
      }
    },
  }),
  ...factsNeeding(["severalResources"], {
    "acquire() grants exactly one of many overlapping claims sent at once, as a whole": async (world) => {
      const lists = [
        ["a", "b"],
        ["b", "c"],
        ["a", "c"],
        ["a", "b", "c"],
      ];
      for (let round = 0; round < world.times(rounds); round++) {
        let sent = 0;
        const claim = async (client: Client, owner: string) =>
          (await client.acquire(owner, lists[sent++ % lists.length] as string[])).granted;
        const winner = only(await winnersOf(world, 40, claim));
        await world.rival.release(winner, ["a", "b", "c"]);
        expect(await nextFence(world.node, ["a", "b", "c"])).toBe(2 * round + 2);
      }
    },
  }),
];
