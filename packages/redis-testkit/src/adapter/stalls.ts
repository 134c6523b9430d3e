import { stat } from "node:fs";
import { Redlock } from "@holdfast/core";
import { stall } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { type Tools, warmUp } from "../adapter-tools.ts";
import { acquireRequest, releaseRequest } from "../requests.ts";

/** Times after a call at which a process may stall. */
const moments: [string, (stall: () => void) => void][] = [
  ["right after the call", (stall) => stall()],
  ["in a microtask", (stall) => queueMicrotask(stall)],
  ["in process.nextTick", (stall) => process.nextTick(stall)],
  ["in setImmediate", (stall) => setImmediate(stall)],
  ["in a timer", (stall) => setTimeout(stall, 0)],
  ["in an I/O callback", (stall) => stat(".", stall)],
];

/** Tests that a stall of the process does not time out healthy servers: timeouts start when the request is sent (W7). */
export function stalledProcess({ server, connected }: Tools): void {
  test("a claim that has not been written is not abandoned", async () => {
    const client = await connected((await server()).port);
    await warmUp(client);
    for (const [moment, at] of moments) {
      await nextTurn();
      const acquired = client.node.acquire(acquireRequest("alice", { resources: [moment], timeoutMs: 5 }));
      at(() => stall(10));
      expect(await acquired, moment).toMatchObject({ granted: true });
    }
  });

  test("a node waits until its server is identified", async () => {
    const { port, command } = await server();
    for (const [moment, at] of moments) {
      const client = await connected(port);
      await command("CONFIG", "RESETSTAT");
      await nextTurn();
      const acquired = client.node.acquire(acquireRequest("alice", { timeoutMs: 150 }));
      at(() => stall(200));
      expect(await acquired, moment).toMatchObject({ granted: true });
      await client.node.release(releaseRequest("alice"));
      expect(String(await command("INFO", "commandstats")), moment).toContain("cmdstat_eval:calls=1,");
    }
  });

  test("a Redlock of three gets its lock by the first attempt", async () => {
    const clients = await Promise.all([1, 2, 3].map(async () => connected((await server()).port)));
    const redlock = new Redlock(clients.map(({ node }) => node));
    await redlock.using("warm-up", () => {});
    for (const [moment, at] of moments) {
      for (const stallMs of [10, 80, 500]) {
        await nextTurn();
        const acquired = redlock.acquire(`stalled for ${stallMs} ${moment}`, { waitTimeoutMs: 0 });
        at(() => stall(stallMs));
        expect((await acquired).remainingMs(), moment).toBeGreaterThan(0);
      }
    }
  });
}

/** Resolves at a point where timers run before the writes of a later `setImmediate`. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
