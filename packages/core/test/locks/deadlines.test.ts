import { describe, expect, it } from "vitest";
import { world } from "../world.ts";

describe("the deadline of a quorum call", () => {
  it("acquire() keeps its deadline when late grants of another claim arrive in the same event-loop turn", async () => {
    const { clock, redlock, nodes } = world(5, { waitTimeoutMs: 0 });
    const answersAtMs: Record<string, Record<string, number>> = {
      d: { acquire: 1000, release: 1001 },
      e: { acquire: 1003, release: 5000 },
    };
    for (const each of nodes) {
      each.fault = ({ method, request, atMs }) => {
        if (request.resources[0] === "s") return { lose: "request" };
        const answerAtMs = answersAtMs[each.name]?.[method];
        return { replyMs: answerAtMs === undefined ? 2 : answerAtMs - atMs };
      };
    }
    const lock = await clock.until(redlock.acquire("r", { ttlMs: 60_000 }));
    await clock.until(lock.release());
    await clock.advance(990 - clock.monotonicMs());
    let outcome: unknown;
    clock.deliver(12, () => {
      redlock.acquire("s").catch((error) => {
        outcome = error.code;
      });
    });
    await clock.stall(20);
    await clock.advance(100_000);
    expect(outcome).toBe("QUORUM_UNREACHABLE");
    expect(clock.pendingTimers).toBe(0);
  });

  it("acquire() leaves no timer behind when it settles synchronously", async () => {
    const { clock, redlock, nodes, expectNothingLeft } = world(3, { waitTimeoutMs: 0 });
    for (const node of nodes) {
      node.fault = ({ method }) => (method === "acquire" ? { throw: new Error("at the call") } : undefined);
    }
    await expect(clock.until(redlock.acquire("r"))).rejects.toMatchObject({ code: "QUORUM_UNREACHABLE" });
    await expectNothingLeft(10);
  });
});
