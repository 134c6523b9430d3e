import type { AcquireRequest, ExtendRequest, ReleaseRequest } from "@holdfast/core";
import { expect } from "vitest";
import { type Fact, fact } from "../fact.ts";
import { type Client, freshOwner, longMs } from "../world/client.ts";
import { within } from "../world/within.ts";
import { nextFence, type World } from "../world/world.ts";
import { expectStillHeld } from "./clients.ts";
import { releaseUntil } from "./watch.ts";

/** What the requests of these tests allow for, in milliseconds. A node may use it to give up by itself. */
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
async function expectRejection({ timeoutMs }: World, what: string, call: () => Promise<unknown>): Promise<void> {
  const outcome = within(timeoutMs + timeoutMs, `${what} while the server is gone`, settled(call));
  expect(await outcome, `${what} while the server is gone`).toBe("rejected");
}

/** How a call ends. */
async function settled(call: () => Promise<unknown>): Promise<string> {
  try {
    return `resolved with ${JSON.stringify(await call())}`;
  } catch {
    return "rejected";
  }
}

/** Makes the server unreachable, and has the client find out, by a call that names the time that it may take. */
export async function stopNoticeably(world: World): Promise<void> {
  await world.server.stop();
  await expectRejection(world, "acquire()", () => world.node.node.acquire(acquireRequest("alice")));
}

/** Makes the server reachable again, and waits until the clients have found it. */
export async function recover(world: World): Promise<void> {
  await world.server.start();
  for (const client of [world.node, world.rival]) {
    await world.eventually("the node answers again", () => answersAgain(world, client));
  }
}

async function answersAgain(world: World, { node }: Client): Promise<boolean> {
  // What hangs now must not keep the test from asking again.
  const answer = settled(() => node.acquire(acquireRequest(freshOwner(), `after the outage, ${freshOwner()}`)));
  return (await within(world.timeoutMs, "acquire() after an outage", answer)) !== "rejected";
}

/** That a node says so when its server is gone, which is not the same as what its server would have said. */
const failures: readonly Fact[] = [
  fact("acquire() rejects in time while the server is gone, and neither grants nor denies", async (world) => {
    await world.node.grant("alice", "r");
    await world.server.stop();
    for (const client of [world.node, world.rival]) {
      for (const owner of ["alice", "bob"]) {
        await expectRejection(world, "acquire()", () => client.node.acquire(acquireRequest(owner)));
      }
    }
  }),

  fact("extend() rejects in time while the server is gone, and says nothing of the claim", async (world) => {
    await world.node.grant("alice", "r");
    await world.server.stop();
    for (const rejoin of [false, true]) {
      await expectRejection(world, "extend()", () => world.node.node.extend(extendRequest("alice", rejoin)));
    }
  }),

  fact("release() does not answer while the server is gone, and settles in time once it is back", async (world) => {
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
    await within(world.timeoutMs, "release() that was sent while the server was gone", outcome);
    expect(answeredWhileGone, "release() was answered by a server that was gone").toBe(false);
  }),
];

/** That an outage ends by itself, and leaves nothing behind. */
const recovery: readonly Fact[] = [
  fact("the same clients work again when the server is back, time and again", async (world) => {
    for (let outage = 0; outage < 2; outage++) {
      await stopNoticeably(world);
      await recover(world);
      const fence = await world.node.grant("bob", "r");
      expect(await world.rival.hold("bob", "r")).toBe(fence);
      expect(await world.rival.release("bob", "r")).toBe(true);
    }
  }),

  fact("acquire() that was rejected while the server was gone claims nothing when it is back", async (world) => {
    await world.server.stop();
    for (const client of [world.node, world.rival]) {
      await expectRejection(world, "acquire()", () => client.node.acquire(acquireRequest("alice")));
    }
    await recover(world);
    // What had been kept for later would have come before what shows that the server is back.
    expect(await nextFence(world.node, "r")).toBe(1);
    expect(await nextFence(world.rival, "r")).toBe(2);
  }),

  fact("extend() that was rejected while the server was gone claims nothing when it is back", async (world) => {
    await world.server.stop();
    await expectRejection(world, "extend()", () => world.node.node.extend(extendRequest("alice", true)));
    await recover(world);
    expect(await nextFence(world.node, "r")).toBe(1);
  }),

  fact("acquire() under way when the server goes is undone by a release, whenever that arrives", async (world) => {
    const { node } = world.node;
    const claimed = settled(() => node.acquire(acquireRequest("alice")));
    await world.server.stop();
    const released = settled(() => node.release(releaseRequest("alice")));
    await within(timeoutMs + world.timeoutMs, "acquire() that was under way when the server went", claimed);
    await recover(world);
    await within(world.timeoutMs, "release() that was sent while the server was gone", released);
    // Only the caller sends a rejected release again.
    await world.node.release("alice", "r");
    await world.rival.grant("bob", "r");
  }),
];

/** That claims are the server's, and not the connection's, and that an answer is given when nothing can undo it. */
const connectionsLost: readonly Fact[] = [
  fact("a claim outlives the connection that made it, and is still its owner's", async (world) => {
    const fence = await world.node.grant("alice", "r", { fenceHint: 10 });
    await stopNoticeably(world);
    await recover(world);
    await expectStillHeld(world, "alice", "r", fence, "claims end with the connection that made them");
    expect(await world.rival.release("alice", "r")).toBe(true);
  }),

  fact("what was answered is done, even if the connection is lost at that moment", async (world) => {
    const { node, rival } = world;
    const loseConnection = async (): Promise<void> => {
      await stopNoticeably(world);
      await recover(world);
    };
    const mistake = (method: string): string => `${method} answers before the commit is certain`;
    const fence = await node.grant("alice", "r");
    await loseConnection();
    await expectStillHeld(world, "alice", "r", fence, mistake("acquire()"));
    await node.hold("alice", "r", { fence: fence + 100 });
    await loseConnection();
    await expectStillHeld(world, "alice", "r", fence + 100, mistake("extend()"));
    await node.free("alice", "r");
    await loseConnection();
    expect(await rival.grant("bob", "r", {}, mistake("release()")), mistake("release()")).toBe(fence + 101);
  }),
];

/** The facts about a server that cannot be reached, where the suite can bring that about. */
export const outageFacts: readonly Fact[] = [...failures, ...recovery, ...connectionsLost];

/** The same for {@link LockNode.inspect}. */
export const inspectOutageFacts: readonly Fact[] = [
  fact("inspect() rejects in time while the server is gone", async (world) => {
    await stopNoticeably(world);
    await expectRejection(world, "inspect()", () => world.node.inspect("r"));
  }),
];

/** The same for {@link LockNode.watch}. */
export const watchOutageFacts: readonly Fact[] = [
  fact("watch() rejects in time while the server is gone, and works when it is back", async (world) => {
    await stopNoticeably(world);
    await expectRejection(world, "watch()", () => world.node.watch("r", () => {}));
    await recover(world);
    await hearsOfRelease(world, async () => {});
  }),

  fact("watch() that began before an outage hears of releases after it", async (world) => {
    await hearsOfRelease(world, async () => {
      await stopNoticeably(world);
      await recover(world);
    });
  }),
];

/** Watches, and fails unless a release after the meanwhile is heard of. */
async function hearsOfRelease(world: World, meanwhile: () => Promise<void>): Promise<void> {
  let heard = 0;
  const unwatch = await world.node.watch("r", () => heard++);
  await meanwhile();
  await releaseUntil(world, world.rival, "r", () => heard > 0);
  await unwatch();
}

/** What is true where the suite has no hand in the way to the server. */
export const noServerFacts: readonly Fact[] = [
  fact("outages and connections are not tested, for the reason that the report gives", async (world) => {
    expect(() => world.server).toThrow("the subject has no server");
  }),
];
