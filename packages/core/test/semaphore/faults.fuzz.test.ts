import { Redlock } from "@holdfast/core";
import { type Permits, type Semaphore, semaphore } from "@holdfast/core/semaphore";
import { FaultyNode, fuzzSeed, isNightly, type VirtualClock } from "@holdfast/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { dice } from "../support/crowd.ts";
import { type World, world } from "../world.ts";

fc.configureGlobal({ seed: fuzzSeed });

const ttlMs = 400;
const nodeTimeoutMs = 40;

const anySeed = fc.integer({ min: 1, max: 2 ** 31 - 2 });

const anyScenario = fc.record({
  nodeCount: fc.constantFrom(1, 3, 5),
  permits: fc.integer({ min: 1, max: 4 }),
  /** The processes: how many permits each has at its disposal, relative to `permits`, and when it dies. */
  processes: fc.array(
    fc.record({ more: fc.integer({ min: -1, max: 1 }), diesAtMs: fc.option(fc.integer({ min: 0, max: 3_000 })) }),
    { minLength: 2, maxLength: 4 },
  ),
  /** The probability that a message is lost. */
  lossRate: fc.constantFrom(0, 0.02, 0.2),
  delayMaxMs: fc.constantFrom(0, 3, 30),
  /** When, and for how long, nothing runs in any process. */
  stalls: fc.array(fc.record({ atMs: fc.integer({ min: 0, max: 3_000 }), ms: fc.integer({ min: 1, max: 700 }) }), {
    maxLength: 3,
  }),
  seed: anySeed,
});
type Scenario = typeof anyScenario extends fc.Arbitrary<infer T> ? T : never;

/** Permits as long as their holder relies on them: until it has released them, or they are lost. */
interface Hold {
  readonly permits: Permits;
  isReleased: boolean;
}

/** Runs processes that acquire, keep and release permits over bad networks, and watches all holders. */
class Run {
  readonly #scenario: Scenario;
  readonly #world: World;
  readonly holds: Hold[] = [];
  /** The largest number of permits in force at once, checked whenever permits were acquired and when time passes. */
  most = 0;
  readonly #random: () => number;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
    this.#random = dice(scenario.seed);
    this.#world = world(scenario.nodeCount);
  }

  get clock(): VirtualClock {
    return this.#world.clock;
  }

  /** Counts the permits in force. No slot has two holders. */
  check(): void {
    const inForce = this.holds.filter(({ isReleased, permits }) => !isReleased && permits.remainingMs() > 0);
    const slots = inForce.flatMap(({ permits }) => permits.slots.map(({ slot }) => slot));
    expect(new Set(slots).size).toBe(slots.length);
    this.most = Math.max(this.most, slots.length);
  }

  async play(): Promise<void> {
    const { processes, permits, stalls } = this.#scenario;
    const workers = processes.flatMap(({ more, diesAtMs }) => {
      const nodes = this.#nodes(diesAtMs ?? Infinity);
      const redlock = new Redlock(nodes, { clock: this.clock, nodeTimeoutMs, ttlMs });
      const api = semaphore(redlock, "api", Math.max(1, permits + more));
      return [this.#work(api), this.#work(api)];
    });
    for (const { atMs, ms } of [...stalls].sort((a, b) => a.atMs - b.atMs)) {
      await this.clock.advance(Math.max(0, atMs - this.clock.monotonicMs()));
      this.check();
      await this.clock.stall(ms);
      this.check();
    }
    await this.clock.until(Promise.all(workers));
  }

  /** The nodes over a network of their own, which ends when their process dies. */
  #nodes(diesAtMs: number): FaultyNode[] {
    const { lossRate, delayMaxMs } = this.#scenario;
    return this.#world.inner.map((inner) => {
      const node = new FaultyNode(inner, this.clock);
      node.fault = () => {
        if (this.clock.monotonicMs() >= diesAtMs) return { lose: "request" };
        const delays = { requestMs: this.#random() * delayMaxMs, replyMs: this.#random() * delayMaxMs };
        if (this.#random() >= lossRate) return delays;
        return { ...delays, lose: this.#random() < 0.5 ? "request" : "reply" };
      };
      return node;
    });
  }

  async #work(api: Semaphore): Promise<void> {
    for (let round = 0; round < 6; round++) {
      const count = 1 + Math.floor(this.#random() * api.permits);
      const waitTimeoutMs = this.#random() < 0.5 ? 300 : 1_500;
      const signal = this.#random() < 0.2 ? this.#abortAfter(this.#random() * 200) : undefined;
      const permits = await api.acquire(count, { waitTimeoutMs, signal, autoExtend: true }).catch(() => undefined);
      if (permits === undefined) continue;
      const hold: Hold = { permits, isReleased: false };
      this.holds.push(hold);
      this.check();
      await new Promise<void>((resolve) => void this.clock.startTimer(this.#random() * 150, resolve));
      this.check();
      hold.isReleased = true;
      await permits.release().catch(() => {});
    }
  }

  #abortAfter(ms: number): AbortSignal {
    const controller = new AbortController();
    this.clock.startTimer(ms, () => controller.abort(new Error("never mind")));
    return controller.signal;
  }

  /** Returns how many permits a newcomer gets once every claim that could be left has expired. */
  async freeAtTheEnd(permits: number): Promise<number> {
    await this.clock.advance(2 * ttlMs);
    const api = semaphore(this.#world.otherClient(), "api", permits);
    return (await this.clock.until(api.tryAcquire(permits)))?.slots.length ?? 0;
  }
}

test("acquire() never admits more holders than the largest semaphore has permits, and leaks none", async () => {
  const scenarios = isNightly ? 120 : 20;
  let holds = 0;
  await fc.assert(
    fc.asyncProperty(anyScenario, async (scenario) => {
      const run = new Run(scenario);
      await run.play();
      const largest = Math.max(...scenario.processes.map(({ more }) => Math.max(1, scenario.permits + more)));
      expect(run.most).toBeLessThanOrEqual(largest);
      const fences = new Map<number, number>();
      for (const { permits } of run.holds) {
        for (const { slot, fence } of permits.slots) {
          expect(fence).toBeGreaterThan(fences.get(slot) ?? 0);
          fences.set(slot, fence);
        }
      }
      holds += run.holds.length;
      expect(await run.freeAtTheEnd(largest)).toBe(largest);
    }),
    { numRuns: scenarios },
  );
  expect(holds).toBeGreaterThan(8 * scenarios);
});

test("acquire() serves every caller of bounded holders over a good network, whatever it wants", async () => {
  const anyCalls = fc.array(
    fc.record({ wanted: fc.integer({ min: 1, max: 3 }), process: fc.integer({ min: 0, max: 2 }) }),
    {
      minLength: 4,
      maxLength: 30,
    },
  );
  await fc.assert(
    fc.asyncProperty(anyCalls, anySeed, async (calls, seed) => {
      const { clock, otherClient } = world(3);
      const random = dice(seed);
      const apis = [0, 1, 2].map(() => semaphore(otherClient({ ttlMs }), "api", 3));
      const work = calls.map(async ({ wanted, process }) => {
        const permits = await (apis[process] as Semaphore).acquire(wanted, { waitTimeoutMs: 60_000, autoExtend: true });
        await new Promise<void>((resolve) => void clock.startTimer(random() * 20, resolve));
        await permits.release();
      });
      await clock.until(Promise.all(work), 60_000);
      expect(clock.monotonicMs()).toBeLessThan(calls.length * 400);
    }),
    { numRuns: isNightly ? 40 : 10 },
  );
});
