import { type Lock, Redlock } from "@holdfast/core";
import { type Fault, fuzzSeed, isNightly } from "@holdfast/testkit";
import fc from "fast-check";
import { expect, it } from "vitest";
import { type World, world } from "../world.ts";

fc.configureGlobal({ seed: fuzzSeed });

const withinMs = 1_000;
const options = { ttlMs: 500, nodeTimeoutMs: 50, waitTimeoutMs: 0 };

/** The fault of one call. Most messages are quick, and each arrives within the ttl. */
const anyFault = fc
  .record({
    requestMs: fc.oneof({ weight: 3, arbitrary: fc.integer({ min: 0, max: 20 }) }, fc.integer({ min: 0, max: 300 })),
    replyMs: fc.integer({ min: 0, max: 40 }),
    isLost: fc.oneof({ weight: 8, arbitrary: fc.constant(false) }, fc.constant(true)),
    lose: fc.constantFrom("request" as const, "reply" as const),
  })
  .map(({ isLost, lose, ...times }) => (isLost ? { ...times, lose } : times));

/** When the last request of the transfer arrives, at most, in milliseconds. */
const transferMs = 40;

/** A client that waits, adopts the ticket, and keeps its lock until all requests of the transfer have arrived. */
const anyAdopter = fc.record({
  startMs: fc.oneof(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 1_500 })),
  holdMs: fc.integer({ min: transferMs, max: 300 }),
});

/** When somebody had a lock, until its holder gave it up or could no longer rely on it. */
interface Held {
  readonly isAdopted: boolean;
  readonly fence: number;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Holds a lock for a while, and releases it. */
async function hold({ clock }: World, lock: Lock, holdMs: number, isAdopted: boolean): Promise<Held> {
  const fromMs = clock.monotonicMs();
  const untilMs = fromMs + Math.min(holdMs, lock.remainingMs());
  await new Promise<void>((resolve) => clock.deliver(holdMs, resolve));
  await lock.release().catch(() => {});
  return { isAdopted, fence: lock.fence, fromMs, untilMs };
}

/** Transfers a lock to several adopters, while a stranger tries to lock. Returns the locks in the order of their grants. */
async function handOver(
  faults: readonly Fault[],
  adopters: readonly { readonly startMs: number; readonly holdMs: number }[],
): Promise<{ it: World; first: Lock; locks: readonly Held[] }> {
  const it = world(3, options);
  const { clock } = it;
  const first = await clock.until(it.redlock.acquire("r"));
  let calls = 0;
  const nextFault = () => faults[calls++ % faults.length] as Fault;
  for (const node of it.nodes) {
    node.fault = () => {
      const fault = nextFault();
      return { ...fault, requestMs: Math.min(transferMs, fault.requestMs ?? 0) };
    };
  }
  void first.extend().catch(() => {});
  const ticket = await clock.until(first.transfer({ withinMs }).catch(() => undefined));
  for (const node of it.nodes) node.fault = nextFault;
  const locks: Held[] = [];
  const open = () => new Redlock(it.nodes, { ...options, clock });
  const adopt = async (startMs: number, holdMs: number): Promise<void> => {
    await new Promise<void>((resolve) => clock.deliver(startMs, resolve));
    const lock = await open()
      .adopt(ticket as string)
      .catch(() => undefined);
    if (lock !== undefined) locks.push(await hold(it, lock, holdMs, true));
  };
  const stranger = open();
  const interfere = async (): Promise<void> => {
    for (let round = 0; round < 25; round++) {
      const lock = await stranger.tryAcquire("r").catch(() => null);
      if (lock !== null) locks.push(await hold(it, lock, 30, false));
      await new Promise<void>((resolve) => clock.deliver(60, resolve));
    }
  };
  const adoptions = ticket === undefined ? [] : adopters.map(({ startMs, holdMs }) => adopt(startMs, holdMs));
  await clock.until(Promise.all([...adoptions, interfere()]));
  return { it, first, locks: locks.sort((a, b) => a.fromMs - b.fromMs) };
}

it("a ticket is adopted once, and nobody else has had the lock, whatever happens to messages", async () => {
  let adoptions = 0;
  const runs = fc.asyncProperty(
    fc.array(anyFault, { minLength: 1, maxLength: 60 }),
    fc.array(anyAdopter, { minLength: 1, maxLength: 4 }),
    async (faults, adopters) => {
      const { it, first, locks } = await handOver(faults, adopters);
      const adopted = locks.findIndex(({ isAdopted }) => isAdopted);
      adoptions += adopted < 0 ? 0 : 1;
      expect(adopted).toBeLessThanOrEqual(0); // the first of all locks, if any
      expect(locks.filter(({ isAdopted }) => isAdopted).length).toBeLessThanOrEqual(1);
      let { fence } = first;
      let untilMs = 0;
      for (const lock of locks) {
        expect(lock.fence).toBeGreaterThan(fence);
        expect(lock.fromMs).toBeGreaterThanOrEqual(untilMs);
        ({ fence, untilMs } = lock);
      }
      await it.expectNothingLeft(5_000);
    },
  );
  await fc.assert(runs, { numRuns: isNightly ? 2_000 : 50 });
  expect(adoptions).toBeGreaterThan(10);
}, 300_000);
