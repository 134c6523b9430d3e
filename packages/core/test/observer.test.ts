import { Redlock } from "@holdfast/core";
import { describe, expect, it } from "vitest";
import { claimOf, world } from "./world.ts";

describe("the observer", () => {
  it("is told of attempts, locks, extensions, releases, losses and failing nodes", async () => {
    const { redlock, clock, node, events, inner } = world(3);
    for (const each of inner) await each.acquire(claimOf("rival", "r", 100));
    node("c").fault = () => ({ reject: new Error("down") });
    const lock = await clock.until(redlock.acquire("r"));
    await clock.until(lock.extend());
    await clock.until(lock.release());
    const lost = await clock.until(redlock.acquire("r"));
    await clock.advance(10_000);

    const of = (name: string) => events.filter(([each]) => each === name).map(([, event]) => event);
    expect(of("attemptSettled")[0]).toMatchObject({ resources: ["r"], outcome: "held", elapsedMs: 0 });
    expect(of("attemptSettled").at(-1)).toMatchObject({ outcome: "acquired" });
    expect(of("acquired")[0]).toMatchObject({ resources: ["r"], owner: lock.owner, fence: lock.fence });
    expect((of("acquired")[0] as { waitedMs: number }).waitedMs).toBeGreaterThanOrEqual(100);
    expect((of("acquired")[0] as { attempts: number }).attempts).toBe(of("attemptSettled").length - 1);
    expect(of("extended")[0]).toMatchObject({ fence: lock.fence, remainingMs: 9898 });
    expect(of("released")[0]).toMatchObject({ owner: lock.owner, heldMs: 0, confirmed: true });
    expect(of("lost")[0]).toMatchObject({ owner: lost.owner, error: { code: "LOCK_LOST" } });
    expect(of("nodeFailed")[0]).toMatchObject({ node: "c", method: "acquire", error: { message: "down" } });
  });

  it("cannot break an operation by throwing or rejecting", async () => {
    const { nodes, clock } = world(3);
    const fails = () => {
      throw new Error("of the observer");
    };
    const rejects = async () => fails();
    const observer = {
      attemptSettled: fails,
      acquired: rejects,
      extended: fails,
      released: rejects,
      lost: fails,
      nodeFailed: rejects,
    };
    const redlock = new Redlock(nodes, { clock, observer });
    const lock = await clock.until(redlock.acquire("r"));
    await clock.until(lock.extend());
    await clock.until(lock.release());
    for (const each of nodes) each.fault = () => ({ reject: new Error("down") });
    await expect(clock.until(redlock.tryAcquire("r"))).rejects.toMatchObject({ code: "QUORUM_UNREACHABLE" });
  });
});
