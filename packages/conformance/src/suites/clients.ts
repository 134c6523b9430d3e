import { setTimeout } from "node:timers/promises";
import { expect } from "vitest";
import { type Fact, facts, factsNeeding } from "../fact.ts";
import { type Client, freshOwner, shared } from "../world/client.ts";
import type { FenceMatcher } from "../world/expectations.ts";
import type { World } from "../world/world.ts";

const handOvers = 10;
const races = 10;
const claimsOfRace = 40;

const notInStore =
  "a claim is not in the store when acquire() replies: the node excludes only its own process, or replies before the commit";
const notFreed = "a claim is still in the store when release() replies: the node replies before the commit";
const perProcess = "exclusion or counting happens in the process, and not in the store";

/**
 * Claims the resource through both clients almost at once, and returns the winners. The first client leads by some
 * milliseconds, so that its claims are in flight when those of the other arrive.
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

/** Fails unless both clients see that the claim is held. */
export async function expectStillHeld(
  world: World,
  owner: string,
  resource: string,
  fence: number | FenceMatcher,
  mistake: string,
): Promise<void> {
  for (const client of [world.rival, world.node]) {
    await client.deny(freshOwner(), resource, {}, mistake);
    if (client.node.inspect) expect(await client.inspect(resource), mistake).toMatchObject({ owner, fence });
    expect(await client.hold(owner, resource, {}, mistake), mistake).toEqual(fence);
  }
}

/** The facts about two clients of one server: both see the same claims, and only the owner identifies a claim. */
export const clientFacts: readonly Fact[] = [
  ...facts({
    "the node has a name, and suggests a timeout in whole milliseconds, if any, the same for both clients": async ({
      node,
      rival,
    }) => {
      for (const { name, suggestedTimeoutMs = 1 } of [node.node, rival.node]) {
        expect(typeof name === "string" && name !== "", `name: ${name}`).toBe(true);
        const isTimeout = Number.isSafeInteger(suggestedTimeoutMs) && suggestedTimeoutMs > 0;
        expect(isTimeout, `suggestedTimeoutMs: ${suggestedTimeoutMs}`).toBe(true);
      }
      expect(rival.node.suggestedTimeoutMs).toBe(node.node.suggestedTimeoutMs);
    },

    "both clients see each other's claims": async ({ node, rival }) => {
      await node.grant("alice", "a");
      await rival.grant("bob", "b");
      for (const client of [node, rival]) {
        for (const [owner, resource] of [["alice", "a"] as const, ["bob", "b"] as const]) {
          await client.deny("carol", resource);
          await client.hold(owner, resource);
        }
      }
      await rival.free("alice", "a");
      expect(await node.release("alice", "a")).toBe(false);
    },
  }),
];

/** The facts about nodes in two processes, which share only the store. */
export const processFacts: readonly Fact[] = [
  ...factsNeeding(["otherProcess"], {
    "a claim excludes another process from the reply of acquire() until the reply of release()": async (world) => {
      const clients = [world.node, await world.inOtherProcess()] as const;
      for (let round = 0; round < world.times(handOvers); round++) {
        const [holder, other] = round % 2 === 0 ? clients : ([clients[1], clients[0]] as const);
        const [owner, resource] = [freshOwner(), `r${round % 3}`];
        const fence = await holder.grant(owner, resource, {}, notFreed);
        await other.deny(freshOwner(), resource, {}, notInStore);
        expect(await other.hold(owner, resource, {}, notInStore), perProcess).toBe(fence);
        await holder.hold(owner, resource, { fence: fence + 10 });
        expect(await other.hold(owner, resource), perProcess).toBe(fence + 10);
        await holder.free(owner, resource);
        expect(await other.grant(owner, resource, {}, notFreed), perProcess).toBe(fence + 11);
        await other.free(owner, resource);
      }
    },

    [`acquire() grants exactly one of ${claimsOfRace} claims that two processes send at once`]: async (world) => {
      const clients = [world.node, await world.inOtherProcess()] as const;
      for (let round = 0; round < world.times(races); round++) {
        const [leader, other] = round % 2 === 0 ? clients : ([clients[1], clients[0]] as const);
        const winners = await race([leader, other], "r", Math.floor(round / 2) % 5);
        expect(winners.length, `${perProcess}: the winners of one round`).toBe(1);
        const [{ owner, client }] = winners as [{ owner: string; client: Client }];
        expect(await client.hold(owner, "r"), `${perProcess}: the counter after ${round + 1} grants`).toBe(round + 1);
        await client.free(owner, "r");
      }
    },
  }),
  ...factsNeeding(["otherProcess", "sharing"], {
    "shared claims of two processes are in force together, and keep an exclusive one out until both are released":
      async (world) => {
        const clients = [world.node, await world.inOtherProcess()] as const;
        for (let round = 1; round <= world.times(handOvers); round++) {
          const [first, other] = round % 2 === 0 ? clients : ([clients[1], clients[0]] as const);
          const owners = [freshOwner(), freshOwner()] as const;
          const fence = await first.grant(owners[0], "r", shared, notFreed);
          expect(await other.grant(owners[1], "r", shared, perProcess), perProcess).toBe(fence);
          await other.deny(freshOwner(), "r", {}, notInStore);
          await first.free(owners[0], "r");
          await first.deny(freshOwner(), "r", {}, notInStore);
          await other.free(owners[1], "r");
          expect(await first.grant(owners[0], "r", {}, notFreed), perProcess).toBe(fence + 1);
          await first.free(owners[0], "r");
        }
      },
  }),
];
