import { expect } from "vitest";
import { type Fact, factsNeeding } from "../fact.ts";
import { nextFence, type World } from "../world/world.ts";
import { recover, stopNoticeably } from "./outages.ts";

const roundsOfCalls = 3;

/** Fewer rounds, as some clients take longer for each further attempt to connect. */
const outages = 2;

/** Repeats an action, and fails if more connections stay open than after one call of each client. */
async function expectNoGrowth(
  world: World,
  act: (round: number) => Promise<void>,
  rounds: number = roundsOfCalls,
): Promise<void> {
  for (const client of [world.node, world.rival]) await nextFence(client, "warm-up");
  const before = await world.server.connections();
  expect(before, "the number from connections()").toSatisfy(Number.isSafeInteger);
  for (let round = 0; round < rounds; round++) await act(round);
  // Connections may close a while after their last use.
  await world.eventually(`no more than ${before} connections are open`, async () => {
    return (await world.server.connections()) <= before;
  });
}

/** The facts about connections that stay open, if the suite can count them. */
export const connectionFacts: readonly Fact[] = [
  ...factsNeeding(["server"], {
    "calls that are granted, denied, resent or rejected leave no connection open": async (world) => {
      const { node, rival } = world;
      await expectNoGrowth(world, async (round) => {
        const owner = `owner ${round}`;
        await node.grant(owner, "r");
        await rival.deny("bob", "r");
        await rival.grant(owner, "r");
        await node.hold(owner, "r");
        await rival.extend("bob", "r", { rejoin: true });
        await node.acquire("heir", "r", { takeover: owner });
        for (const each of [owner, "heir"]) {
          await node.release(each, "r");
          await rival.release(each, "r");
        }
        for (const client of [world.bare.node, world.bare.rival]) {
          await expect(client.acquire("alice", [])).rejects.toThrow("rejected");
          await expect(client.extend("alice", [])).rejects.toThrow("rejected");
          if (client.node.inspect) await client.inspect("r");
          if (client.node.scan) await client.scan();
          if (client.node.raiseFloor) await client.raiseFloor({ floor: round, epoch: 2 });
          if (client.node.raiseFloor) await client.refuse("alice", "r", { epoch: 7 });
        }
      });
    },

    "outages leave no connection open": async (world) => {
      const outage = async (): Promise<void> => {
        await stopNoticeably(world);
        await recover(world);
      };
      await expectNoGrowth(world, outage, outages);
    },
  }),
  ...factsNeeding(["server", "watch"], {
    "ended watches leave no connection open": async (world) => {
      await expectNoGrowth(world, async () => {
        const ends = await Promise.all(["r", "s"].map((resource) => world.node.watch(resource, () => {})));
        for (const unwatch of ends) await unwatch();
      });
    },
  }),
];
