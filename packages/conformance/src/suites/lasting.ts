import { expect } from "vitest";
import { type Fact, facts, factsNeeding } from "../fact.ts";
import { freshOwner } from "../world/client.ts";
import { lastingMs, minuteMs } from "../world/durations.ts";
import { between, type FenceMatcher } from "../world/expectations.ts";
import { claimAndExpire, nextFence, type World } from "../world/world.ts";
import { expectStillHeld } from "./clients.ts";
import { afterOutage, recover, stopNoticeably } from "./outages.ts";

const forgotten = "a fence counter is lost some seconds after its claim: it starts again and repeats fencing tokens";

/** The ttl of claims that must last. */
const lastingTtlMs = 60 * minuteMs;

/** Makes a claim, waits, and fails unless it is still held. A slow machine may let it expire. */
async function expectLasting(
  world: World,
  mistake: string,
  claim: () => Promise<number>,
  fenceLater: (fence: number) => number | FenceMatcher = (fence) => fence,
): Promise<void> {
  const startMs = world.elapsedMs();
  const fence = await claim();
  await world.pass(lastingMs);
  if (world.elapsedMs() - startMs > lastingTtlMs / 2) return;
  await expectStillHeld(world, "alice", "r", fenceLater(fence), mistake);
}

/** Sets the counters of several resources in different ways, and returns them. */
async function setCounters(world: World): Promise<Map<string, number>> {
  const { node, rival } = world;
  const counters = new Map<string, number>();
  for (const name of ["released at once", "released twice"]) counters.set(name, await nextFence(node, name));
  counters.set("released twice", await nextFence(rival, "released twice"));
  counters.set("expired", await claimAndExpire(world, freshOwner(), "expired"));
  await node.grant("alice", "raised", { fenceHint: 500 });
  counters.set("raised", await node.hold("alice", "raised", { fence: 1_000 }));
  await rival.free("alice", "raised");
  // A ttl that ends meanwhile by any clock.
  counters.set("expires later", await node.grant("alice", "expires later", { ttlMs: 1_000, fenceHint: 70 }));
  return counters;
}

/** The facts about claims and counters that last for seconds. */
export const lastingFacts: readonly Fact[] = [
  ...facts({
    "fence counters are kept for seconds after their claims have ended": async (world) => {
      const counters = await setCounters(world);
      await world.pass(lastingMs);
      await world.eventually("the last of the claims ends", async () => {
        const { granted } = await world.rival.acquire("bob", "expires later");
        if (granted) await world.rival.free("bob", "expires later");
        return granted;
      });
      counters.set("expires later", (counters.get("expires later") ?? 0) + 1);
      await world.leap(lastingTtlMs);
      let highest = Math.max(...counters.values());
      for (const [name, fence] of counters) {
        const next = await nextFence(world.node, name);
        expect(next, `${forgotten}: the next fence of "${name}"`).toEqual(between(fence + 1, highest + 1));
        highest = Math.max(highest, next);
      }
    },

    "claims last for seconds without an extension": (world) =>
      expectLasting(world, "claims end before their ttl if their client sends nothing", () =>
        world.node.grant("alice", "r", { ttlMs: lastingTtlMs }),
      ),
  }),
  ...factsNeeding(["server"], {
    "claims last for seconds after the connection that made them was lost": async (world) => {
      const claim = async (): Promise<number> => {
        const fence = await world.node.grant("alice", "r", { ttlMs: lastingTtlMs });
        await stopNoticeably(world);
        await recover(world);
        return fence;
      };
      await expectLasting(world, "claims end some time after the connection that made them", claim, afterOutage);
    },
  }),
  ...factsNeeding(["otherProcess"], {
    "claims last for seconds after the process that made them has ended": async (world) => {
      const { client, kill } = await world.inOwnProcess();
      await expectLasting(world, "claims end with the process that made them, or some time later", async () => {
        const fence = await client.grant("alice", "r", { ttlMs: lastingTtlMs });
        await kill();
        return fence;
      });
    },
  }),
];
