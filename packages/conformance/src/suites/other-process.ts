import { setImmediate, setTimeout } from "node:timers/promises";
import { expect } from "vitest";
import { type Client, freshOwner } from "../client.ts";
import { type Fact, fact } from "../fact.ts";
import type { World } from "../world.ts";

const handOvers = 30;
const races = 20;
const claimsOfRace = 40;
const stormGrants = 60;
const attemptsMax = 20_000;

const notInStore =
  "a claim is not in the store when acquire() answers: the node excludes only callers of its own process, or answers before the commit";
const notFreed = "a claim is still in the store when release() answers: the node answers before the commit";
const perProcess = "exclusion or counting happens in the process, and not in the store";

/**
 * Claims the resource over both clients nearly at once, and returns the winners. The first client leads by some
 * milliseconds, so that its claims are under way when those of the other arrive.
 */
async function race(
  clients: readonly [Client, Client],
  resource: string,
  leadMs: number,
): Promise<{ owner: string; client: Client }[]> {
  const claims = Array.from({ length: claimsOfRace }, async (_, index) => {
    const [owner, client] = [freshOwner(), clients[index % 2] as Client];
    if (index % 2 === 1 && leadMs > 0) await setTimeout(leadMs);
    return (await client.acquire(owner, resource)).granted ? [{ owner, client }] : [];
  });
  return (await Promise.all(claims)).flat();
}

/** A section that only one may be in: workers of both processes enter it under a claim. */
interface Section {
  grants: number;
  holder: string | undefined;
  readonly fences: number[];
}

async function work(client: Client, section: Section): Promise<void> {
  for (let attempt = 0; section.grants < stormGrants && attempt < attemptsMax; attempt++) {
    const owner = freshOwner();
    const reply = await client.acquire(owner, "r");
    if (!reply.granted) {
      await setImmediate();
      continue;
    }
    expect(section.holder, `${perProcess}: the other holder`).toBeUndefined();
    section.holder = owner;
    section.grants++;
    section.fences.push(reply.fence);
    await setImmediate();
    section.holder = undefined;
    expect(await client.release(owner, "r"), `${perProcess}: whether the claim was still there`).toBe(true);
  }
}

/** The facts about nodes in two processes, which share nothing but the store. */
export const otherProcessFacts: readonly Fact[] = [
  fact(
    "a claim excludes another process as soon as acquire() has answered, and no longer after release()",
    async (world) => {
      const clients = [world.node, await world.inOtherProcess()] as const;
      for (let round = 0; round < handOvers; round++) {
        const [holder, other] = round % 2 === 0 ? clients : ([clients[1], clients[0]] as const);
        const [owner, resource] = [freshOwner(), `r${round % 3}`];
        const fence = await holder.grant(owner, resource, {}, notFreed);
        await other.deny(freshOwner(), resource, {}, notInStore);
        expect(await other.hold(owner, resource, {}, notInStore), perProcess).toBe(fence);
        await holder.free(owner, resource);
        expect(await other.grant(owner, resource, {}, notFreed), perProcess).toBe(fence + 1);
        await other.free(owner, resource);
      }
    },
  ),

  fact("an extension is seen by another process as soon as extend() has answered", async (world) => {
    const clients = [world.node, await world.inOtherProcess()] as const;
    let fence = await world.node.grant("alice", "r");
    for (let round = 0; round < handOvers; round++) {
      const [holder, other] = round % 2 === 0 ? clients : ([clients[1], clients[0]] as const);
      fence += 10;
      await holder.hold("alice", "r", { fence });
      const seen = await other.hold("alice", "r");
      expect(seen, "extend() answers before the commit, or raises a counter in its process").toBe(fence);
    }
  }),

  fact(`acquire() grants exactly one of ${claimsOfRace} claims that two processes send at once`, async (world) => {
    const clients = [world.node, await world.inOtherProcess()] as const;
    for (let round = 0; round < races; round++) {
      const [leader, other] = round % 2 === 0 ? clients : ([clients[1], clients[0]] as const);
      const winners = await race([leader, other], "r", Math.floor(round / 2) % 5);
      expect(winners.length, `${perProcess}: the winners of one round`).toBe(1);
      const [{ owner, client }] = winners as [{ owner: string; client: Client }];
      expect(await client.hold(owner, "r"), `${perProcess}: the counter after ${round + 1} grants`).toBe(round + 1);
      await client.free(owner, "r");
    }
  }),

  fact("workers of two processes never hold a resource at the same time, and their fences increase", async (world) => {
    const clients = [world.node, await world.inOtherProcess(), world.rival];
    const section: Section = { grants: 0, holder: undefined, fences: [] };
    await Promise.all([...clients, ...clients].map((client) => work(client, section)));
    expect(section.fences, perProcess).toEqual(section.fences.map((_, index) => index + 1));
  }),

  fact("a claim outlives the process that made it", async (world) => {
    const { client, kill } = await world.inOwnProcess();
    const fence = await client.grant("alice", "r");
    await kill();
    await expectStillHeld(world, "alice", "r", fence, "claims end with the process that made them");
  }),
];

/** Fails unless the claim is there, as both clients see it. */
export async function expectStillHeld(
  world: World,
  owner: string,
  resource: string,
  fence: number,
  mistake: string,
): Promise<void> {
  for (const client of [world.rival, world.node]) {
    await client.deny(freshOwner(), resource, {}, mistake);
    if (client.node.inspect) expect(await client.inspect(resource), mistake).toMatchObject({ owner, fence });
    expect(await client.hold(owner, resource, {}, mistake), mistake).toBe(fence);
  }
}

/** What is true where the suite can start no other process. */
export const noOtherProcessFacts: readonly Fact[] = [
  fact("exclusion between processes is not tested, for the reason that the report gives", async (world) => {
    await expect(world.inOtherProcess()).rejects.toThrow("the subject has no rivalModule");
  }),
];
