import { type LockNode, Redlock } from "@holdfast/core";
import { election } from "@holdfast/core/election";
import { StaleFenceError } from "@holdfast/ioredis";
import { memoryNode } from "@holdfast/memory";
import { FaultyNode, VirtualClock } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { lead } from "../src/leader.ts";

const stepMs = 200;

interface Worked {
  readonly name: string;
  readonly fence: number;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Leads on virtual time; each step takes as long as it may. */
function startLeader(name: string, nodes: readonly LockNode[], clock: VirtualClock, steps: Worked[]) {
  const stop = new AbortController();
  const redlock = new Redlock(nodes, { clock, ttlMs: 1_000 });
  const led = lead(election(redlock, "leader"), { stop: stop.signal, stepMs }, async (fence) => {
    const fromMs = clock.monotonicMs();
    await new Promise<void>((resolve) => clock.startTimer(stepMs, resolve));
    steps.push({ name, fence, fromMs, untilMs: clock.monotonicMs() });
  });
  return { stop: () => stop.abort(), led };
}

test("lead() ends its last step before another process leads, when it is cut off from the servers", async () => {
  const clock = new VirtualClock();
  const nodes = [1, 2, 3].map(() => memoryNode({ clock }));
  const network = nodes.map((node) => new FaultyNode(node, clock));
  const steps: Worked[] = [];
  const first = startLeader("first", network, clock, steps);
  await clock.advance(5_000);
  const second = startLeader("second", nodes, clock, steps);
  await clock.advance(5_000);
  expect(new Set(steps.map(({ name }) => name))).toEqual(new Set(["first"]));

  for (const node of network) node.fault = () => ({ lose: "request" });
  await clock.advance(5_000);
  const change = steps.findIndex(({ name }) => name === "second");
  expect(change).toBeGreaterThan(0);
  const [before, after] = [steps[change - 1], steps[change]] as [Worked, Worked];
  expect(steps.slice(change).every(({ name }) => name === "second")).toBe(true);
  expect(before.untilMs).toBeLessThan(after.fromMs);
  expect(before.fence).toBeLessThan(after.fence);

  // Connected again, it leads in a new term when the other one stops.
  for (const node of network) node.fault = () => undefined;
  second.stop();
  await clock.until(second.led);
  await clock.advance(5_000);
  expect(steps.at(-1)?.name).toBe("first");
  expect(steps.at(-1)?.fence).toBeGreaterThan(after.fence);
  first.stop();
  await clock.until(first.led);
  expect((await nodes[0]?.inspect("leader"))?.owner).toBeNull();
});

test("lead() ends its term when the storage refuses a write", async () => {
  const [stop, fences] = [new AbortController(), [] as number[]];
  const redlock = new Redlock([memoryNode(), memoryNode(), memoryNode()]);
  await lead(election(redlock, "leader"), { stop: stop.signal, stepMs }, async (fence) => {
    fences.push(fence);
    if (fences.length === 1) throw new StaleFenceError("write", "a", fence, fence + 1);
    stop.abort();
  });
  const [first = 0, second = 0] = fences;
  expect(second).toBeGreaterThan(first);
});

test("lead() rejects with the error of a step, after releasing the role", async () => {
  const nodes = [memoryNode(), memoryNode(), memoryNode()];
  const { signal: stop } = new AbortController();
  const step = () => Promise.reject(new Error("out of paper"));
  await expect(lead(election(new Redlock(nodes), "leader"), { stop, stepMs }, step)).rejects.toThrow("out of paper");
  expect((await new Redlock(nodes).inspect("leader")).state).toBe("free");
});
