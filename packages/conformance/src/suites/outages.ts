import type { AcquireRequest, ExtendRequest, ReleaseRequest } from "@holdfast/core/node";
import { expect } from "vitest";
import { type Fact, factsNeeding } from "../fact.ts";
import { type Client, freshOwner } from "../world/client.ts";
import { longMs } from "../world/durations.ts";
import { between, type FenceMatcher } from "../world/expectations.ts";
import { within } from "../world/within.ts";
import { nextFence, type World } from "../world/world.ts";
import { expectStillHeld } from "./clients.ts";
import { releaseUntil } from "./watch.ts";

/** The `timeoutMs` of the requests in these tests. A node may use it to give up early. */
const timeoutMs = 100;

function acquireRequest(owner: string, resource = "r"): AcquireRequest {
  return { resources: [resource], owner, timeoutMs, ttlMs: longMs, fenceHint: 1_000 };
}

function extendRequest(owner: string, rejoin: boolean): ExtendRequest {
  return { resources: ["r"], owner, timeoutMs, ttlMs: longMs, fence: 1_000, rejoin };
}

function releaseRequest(owner: string): ReleaseRequest {
  return { resources: ["r"], owner, timeoutMs };
}

/** Fails unless the call rejects in time. */
export async function expectRejection({ timeoutMs }: World, what: string, call: () => Promise<unknown>): Promise<void> {
  const outcome = within(timeoutMs + timeoutMs, `${what} while the server is unreachable`, settled(call));
  expect(await outcome, `${what} while the server is unreachable`).toBe("rejected");
}

/** Returns how a call settles. */
async function settled(call: () => Promise<unknown>): Promise<string> {
  try {
    return `resolved with ${JSON.stringify(await call())}`;
  } catch {
    return "rejected";
  }
}

/** Makes the server unreachable, and lets the client notice by a call with a timeout. */
export async function stopNoticeably(world: World): Promise<void> {
  await world.server.stop();
  await expectRejection(world, "acquire()", () => world.node.node.acquire(acquireRequest("alice")));
}

/** Makes the server reachable again, and waits until the clients have reconnected. */
export async function recover(world: World): Promise<void> {
  await world.server.start();
  for (const client of [world.node, world.rival]) {
    await world.eventually("the node replies again", () => repliesAgain(world, client));
  }
}

async function repliesAgain(world: World, { node }: Client): Promise<boolean> {
  const request = { ...acquireRequest(freshOwner(), `after the outage, ${freshOwner()}`), fenceHint: 1 };
  // A call that hangs must not keep the test from retrying.
  const answer = settled(() => node.acquire(request));
  return (await within(world.timeoutMs, "acquire() after an outage", answer)) !== "rejected";
}

/** Matches a fence after an outage: the calls that show that the server is back may advance a shared counter. */
export function afterOutage(own: number, outages = 1): FenceMatcher {
  return between(own, own + 90 * outages);
}

/** Watches, runs `meanwhile`, and fails unless a release after that is notified. */
async function expectNotification(world: World, meanwhile: () => Promise<void>): Promise<void> {
  let heard = 0;
  const unwatch = await world.node.watch("r", () => heard++);
  await meanwhile();
  await releaseUntil(world, world.rival, "r", () => heard > 0);
  await unwatch();
}

/** The facts about an unreachable server, if the suite controls the network. */
export const outageFacts: readonly Fact[] = [
  ...factsNeeding(["server"], {
    // A node rejects while its server is unreachable, and does not guess the server's reply.
    "acquire() rejects in time while the server is unreachable, and neither grants nor denies": async (world) => {
      await world.node.grant("alice", "r");
      await world.server.stop();
      for (const client of [world.node, world.rival]) {
        for (const owner of ["alice", "bob"]) {
          await expectRejection(world, "acquire()", () => client.node.acquire(acquireRequest(owner)));
        }
      }
    },

    "extend() rejects in time while the server is unreachable, and reports nothing about the claim": async (world) => {
      await world.node.grant("alice", "r");
      await world.server.stop();
      for (const rejoin of [false, true]) {
        await expectRejection(world, "extend()", () => world.node.node.extend(extendRequest("alice", rejoin)));
      }
    },

    "release() does not resolve while the server is unreachable, and settles in time after the outage": async (
      world,
    ) => {
      const { node } = world.node;
      await world.node.grant("alice", "r");
      await world.server.stop();
      let isGone = true;
      let answeredWhileGone = false;
      const outcome = settled(() =>
        node.release(releaseRequest("alice")).then((reply) => {
          answeredWhileGone = isGone;
          return reply;
        }),
      );
      await expectRejection(world, "acquire()", () => node.acquire(acquireRequest("bob")));
      isGone = false;
      await recover(world);
      await within(world.timeoutMs, "release() that was sent during an outage", outcome);
      expect(answeredWhileGone, "release() resolved while its server was unreachable").toBe(false);
    },

    // Clients recover from an outage automatically, and nothing is left behind.
    "the same clients work again after each outage": async (world) => {
      for (let outage = 0; outage < 2; outage++) {
        await stopNoticeably(world);
        await recover(world);
        const fence = await world.node.grant("bob", "r");
        expect(await world.rival.hold("bob", "r")).toBe(fence);
        expect(await world.rival.release("bob", "r")).toBe(true);
      }
    },

    "acquire() and extend() that were rejected during an outage claim nothing afterwards": async (world) => {
      await world.server.stop();
      for (const { node } of [world.node, world.rival]) {
        await expectRejection(world, "acquire()", () => node.acquire(acquireRequest("alice")));
        await expectRejection(world, "extend()", () => node.extend(extendRequest("alice", true)));
      }
      await recover(world);
      // A queued claim would have arrived before the calls that show that the server is back.
      const fence = await nextFence(world.node, "r");
      expect(fence).toEqual(afterOutage(1));
      expect(await nextFence(world.rival, "r")).toBe(fence + 1);
    },

    "acquire() in flight when an outage begins is undone by a release, whenever that arrives": async (world) => {
      const { node } = world.node;
      const claimed = settled(() => node.acquire(acquireRequest("alice")));
      await world.server.stop();
      const released = settled(() => node.release(releaseRequest("alice")));
      await within(timeoutMs + world.timeoutMs, "acquire() that was in flight when the outage began", claimed);
      await recover(world);
      await within(world.timeoutMs, "release() that was sent during an outage", released);
      // A rejected release is retried by the caller alone.
      await world.node.release("alice", "r");
      await world.rival.grant("bob", "r");
    },

    // Claims belong to the server, not to a connection, and a node replies only when nothing can undo the call.
    "a claim outlives the connection that made it, and still belongs to its owner": async (world) => {
      const fence = await world.node.grant("alice", "r", { fenceHint: 10 });
      await stopNoticeably(world);
      await recover(world);
      await expectStillHeld(world, "alice", "r", afterOutage(fence), "claims end with the connection that made them");
      expect(await world.rival.release("alice", "r")).toBe(true);
    },

    "a reply stays true even if the connection is lost right after it": async (world) => {
      const { node, rival } = world;
      const loseConnection = async (): Promise<void> => {
        await stopNoticeably(world);
        await recover(world);
      };
      const mistake = (method: string): string => `${method} replies before the commit is certain`;
      const fence = await node.grant("alice", "r");
      await loseConnection();
      await expectStillHeld(world, "alice", "r", afterOutage(fence), mistake("acquire()"));
      await node.hold("alice", "r", { fence: fence + 100 });
      await loseConnection();
      await expectStillHeld(world, "alice", "r", afterOutage(fence + 100, 2), mistake("extend()"));
      await node.free("alice", "r");
      await loseConnection();
      const next = await rival.grant("bob", "r", {}, mistake("release()"));
      expect(next, mistake("release()")).toEqual(afterOutage(fence + 101, 3));
    },
  }),
  ...factsNeeding(["server", "inspect"], {
    "inspect() rejects in time while the server is unreachable": async (world) => {
      await stopNoticeably(world);
      await expectRejection(world, "inspect()", () => world.node.inspect("r"));
    },
  }),
  ...factsNeeding(["server", "watch"], {
    "watch() rejects in time while the server is unreachable, and works after the outage": async (world) => {
      await stopNoticeably(world);
      await expectRejection(world, "watch()", () => world.node.watch("r", () => {}));
      await recover(world);
      await expectNotification(world, async () => {});
    },

    "watch() started before an outage notifies of releases after it": async (world) => {
      await expectNotification(world, async () => {
        await stopNoticeably(world);
        await recover(world);
      });
    },
  }),
];
