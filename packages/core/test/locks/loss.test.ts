import type { LockLostError, LockOptions } from "@holdfast/core";
import { describe, expect, it } from "vitest";
import { world } from "../world.ts";

/** A lock with a validity of 9 898 ms, and the error with which it was lost after something has happened. */
async function lostAfter(
  options: LockOptions,
  happens: (it: ReturnType<typeof world>) => void | Promise<void>,
): Promise<LockLostError> {
  const it = world(3);
  const lock = await it.clock.until(it.redlock.acquire("r", options));
  await happens(it);
  await it.clock.advance(20_000);
  expect(lock.signal.reason).toMatchObject({ code: "LOCK_LOST", resources: ["r"] });
  return lock.signal.reason;
}

const extended = { autoExtend: true };

describe("the reason of a LockLostError", () => {
  it("is expired if nobody has extended the lock", async () => {
    const error = await lostAfter({}, () => {});
    expect(error).toMatchObject({ reason: "expired", outcomes: [] });
    expect(error.message).toBe("could not keep r: its validity ended before it was extended");
  });

  it("is blocked if the event loop was, from before the extension until the validity had ended", async () => {
    const error = await lostAfter(extended, async ({ clock }) => {
      await clock.advance(4_000);
      await clock.stall(11_000);
    });
    expect(error.reason).toBe("blocked");
    expect(error.message).toMatch(
      /^could not keep r: its validity ended while this process was blocked: a timer was 10051 ms late/,
    );
  });

  it("is blocked if nodes were too slow for the time that a block had left", async () => {
    const error = await lostAfter(extended, async ({ clock, nodes }) => {
      for (const node of nodes) node.fault = () => ({ requestMs: 400 });
      await clock.advance(4_000);
      await clock.stall(5_600);
    });
    expect(error.reason).toBe("blocked");
    expect(error.message).toContain("was blocked: a timer was 4651 ms late");
  });

  it("is unreachable if nodes do not reply, in spite of a short block, and names their errors", async () => {
    const error = await lostAfter(extended, async ({ clock, nodes, node }) => {
      for (const each of nodes) each.fault = () => ({ lose: "request" });
      node("a").fault = () => ({ reject: new Error("down") });
      await clock.advance(4_000);
      await clock.stall(2_000);
    });
    expect(error.reason).toBe("unreachable");
    expect(error.message).toMatch(
      /while too few nodes replied; 0 of 3 nodes hold it, 2 needed; a failed: down, b timed/,
    );
    expect(error.cause).toMatchObject({ message: "down" });
  });

  it("is unreachable if the first extension has not been answered when the validity ends", async () => {
    const error = await lostAfter({ ...extended, ttlMs: 100 }, ({ nodes }) => {
      for (const each of nodes) each.fault = () => ({ requestMs: 60 });
    });
    expect(error.reason).toBe("unreachable");
  });

  it("is expired if a block, or a step of the wall clock, was over long before the validity ended", async () => {
    const blocked = await lostAfter({}, async ({ clock }) => {
      await clock.advance(100);
      await clock.stall(4_000);
    });
    const stepped = await lostAfter({}, async ({ clock }) => clock.stepWall(5));
    expect([blocked.reason, stepped.reason]).toEqual(["expired", "expired"]);
  });

  it("is suspended if the wall clock alone has advanced beyond the validity", async () => {
    const error = await lostAfter(extended, async ({ clock }) => {
      await clock.advance(1_000);
      clock.suspend(60_000);
    });
    expect(error.reason).toBe("suspended");
    expect(error.message).toContain("the machine was suspended, or its clock set forward, for 60000 ms");
  });

  it("is not what an earlier window of the lock shows", async () => {
    const error = await lostAfter(extended, async ({ clock, nodes }) => {
      await clock.advance(1_000);
      await clock.stall(8_000);
      await clock.advance(1_000); // extends it
      for (const node of nodes) node.fault = () => ({ reject: new Error("down") });
    });
    expect(error.reason).toBe("unreachable");
  });
});
