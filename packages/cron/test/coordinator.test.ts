import { type Clock, type LockNode, type Observer, QuorumUnreachableError, Redlock } from "@holdfast/core";
import { type CronOptions, cronCoordinator, type MissedEvent, type OverlappedEvent } from "@holdfast/cron";
import { memoryNode } from "@holdfast/memory";
import { VirtualClock } from "@holdfast/testkit";
import { describe, expect, it } from "vitest";

const hourMs = 3_600_000;

/** Processes over the same nodes, each with a wall clock of its own. */
class World {
  readonly clock = new VirtualClock();
  readonly nodes: readonly LockNode[];
  /** How many nodes do not reply: the first ones. */
  down = 0;
  readonly missed: MissedEvent[] = [];
  readonly overlapped: OverlappedEvent[] = [];
  /** The moments that were run, as often as they were. */
  readonly runs: string[] = [];

  constructor(nodeCount = 3) {
    this.nodes = Array.from({ length: nodeCount }, (_, index) => this.#node(index));
  }

  #node(index: number): LockNode {
    const node = memoryNode({ name: `node-${index}`, clock: this.clock });
    const unlessDown =
      <Args extends unknown[], Reply>(ask: (...args: Args) => Promise<Reply>) =>
      (...args: Args) =>
        index < this.down ? Promise.reject(new Error("down")) : ask(...args);
    const { acquire, extend, release, inspect } = node;
    return {
      ...node,
      acquire: unlessDown(acquire),
      extend: unlessDown(extend),
      release: unlessDown(release),
      inspect: unlessDown(inspect),
    };
  }

  /**
   * Starts a process.
   *
   * @param aheadMs how far its clock is ahead of that of the nodes
   * @param delayMs how long its claims take to each node; its releases take longer
   */
  process(aheadMs = 0, options: CronOptions = {}, observer: Observer = {}, delayMs = (_node: number) => 0) {
    const { clock } = this;
    const nodes = this.nodes.map((node, index): LockNode => {
      const after = (ms: number) => new Promise<void>((resolve) => clock.deliver(ms, resolve));
      return {
        ...node,
        acquire: (request) => after(delayMs(index)).then(() => node.acquire(request)),
        release: (request) => after(5).then(() => node.release(request)),
      };
    });
    const { monotonicMs, startTimer, afterPendingIo } = clock;
    const own: Clock = { monotonicMs, startTimer, afterPendingIo, wallMs: () => clock.wallMs() + aheadMs };
    const missed = (event: MissedEvent) => this.missed.push(event);
    const overlapped = (event: OverlappedEvent) => this.overlapped.push(event);
    const redlock = new Redlock(nodes, { clock: own, observer });
    const coordinator = cronCoordinator(redlock, { missed, overlapped, ...options });
    const run = (moment: Date) =>
      coordinator.run("report", moment, () => {
        this.runs.push(moment.toISOString());
      });
    return { redlock, coordinator, run };
  }

  /** Returns the moment that is this far from now. */
  moment(inMs = 0): Date {
    return new Date(this.clock.wallMs() + inMs);
  }
}

describe("cronCoordinator()", () => {
  it("run() runs a moment in one of five processes that each reach another one of five nodes first", async () => {
    const world = new World(5);
    const processes = [0, 1, 2, 3, 4].map((index) => world.process(0, {}, {}, (node) => (node + index) % 5));
    for (let count = 1; count <= 5; count++) {
      const moment = world.moment();
      const ran = await world.clock.until(Promise.all(processes.map(({ run }) => run(moment))));
      expect(ran.filter(Boolean)).toHaveLength(1);
      expect(world.runs).toHaveLength(count);
      await world.clock.advance(60_000);
    }
    expect([world.missed, world.overlapped]).toEqual([[], []]);
  });

  it("run() runs each moment once on clocks that are an hour apart, although a run takes no time", async () => {
    const world = new World();
    const first = world.moment(2 * hourMs).getTime();
    const everyMs = 10 * 60_000;
    const processes = [0, -1, 59 * 60_000, 30 * 60_000].map((aheadMs) => ({ aheadMs, ...world.process(aheadMs) }));
    const moments = Array.from({ length: 24 }, (_, index) => new Date(first + index * everyMs));
    const starts = moments.flatMap((moment) =>
      processes.map(({ aheadMs, run }) => ({ atMs: moment.getTime() - aheadMs, moment, run })),
    );
    for (const { atMs, moment, run } of starts.sort((a, b) => a.atMs - b.atMs)) {
      await world.clock.advance(atMs - world.clock.wallMs());
      await world.clock.until(run(moment));
    }
    expect(world.runs).toEqual(moments.map((moment) => moment.toISOString()));
    expect(world.missed).toEqual([]);
  });

  it("run() leaves out a moment that is older than half of holdMs, as it may have been forgotten", async () => {
    const world = new World();
    const { run } = world.process(0, { holdMs: 10_000 });
    const moment = world.moment();
    expect(await world.clock.until(run(moment))).toBe(true);
    for (const waitMs of [4_900, 200, 5_000, hourMs]) {
      await world.clock.advance(waitMs);
      expect(await world.clock.until(run(moment))).toBe(false);
    }
    expect(world.missed).toEqual(Array.from({ length: 3 }, () => ({ job: "report", moment, reason: "late" })));
  });

  it("run() leaves out a moment that it gets only after half of holdMs, as another process may have held it", async () => {
    const world = new World();
    const moment = world.moment(9_000);
    const early = world.process(9_000, { holdMs: 20_000 });
    expect(await world.clock.until(early.run(moment))).toBe(true);
    await world.clock.advance(17_000);
    world.down = 2;
    const waiting = world.process(0, { holdMs: 20_000 }).run(moment);
    await world.clock.advance(3_500); // the early process has released it
    world.down = 0;
    expect(await world.clock.until(waiting)).toBe(false);
    expect(world.missed).toEqual([{ job: "report", moment, reason: "late" }]);
  });

  it("run() keeps a moment for holdMs, releases it then, and leaves no timer", async () => {
    const world = new World();
    const ends: string[] = [];
    const { run } = world.process(
      0,
      { holdMs: 10_000 },
      {
        released: ({ resources }) => ends.push(`released ${resources}`),
        lost: ({ resources }) => ends.push(`lost ${resources}`),
      },
    );
    const moment = world.moment();
    await world.clock.until(run(moment));
    expect(ends).toEqual(["released cron:report:running"]);
    await world.clock.advance(9_999);
    expect(ends).toHaveLength(1);
    await world.clock.advance(10);
    expect(ends).toEqual(["released cron:report:running", `released cron:report:${moment.toISOString()}`]);
    expect(world.clock.pendingTimers).toBe(0);
  });

  it("run() gives its routine a lock, and rejects with the error of the routine, or because the lock was lost", async () => {
    const world = new World();
    const { coordinator, redlock } = world.process();
    const failing = coordinator.run("report", world.moment(), () => Promise.reject(new Error("it has failed")));
    await expect(world.clock.until(failing)).rejects.toThrow("it has failed");
    const losing = coordinator.run("report", world.moment(1), async (lock) => {
      expect(lock.resources).toEqual(["cron:report:running"]);
      world.down = 3;
      await world.clock.advance(20_000);
    });
    await expect(world.clock.until(losing)).rejects.toMatchObject({ code: "LOCK_LOST" });
    world.down = 0;
    expect(await world.clock.until(redlock.inspect("cron:report:running"))).toMatchObject({ state: "free" });
  });

  it("run() leaves out a moment while the previous run goes on anywhere, and tells overlapped", async () => {
    const world = new World();
    const [first, second] = [world.process(), world.process()];
    const [moment, next, third] = [world.moment(), world.moment(60_000), world.moment(120_000)];
    let end = () => {};
    const running = first.coordinator.run("report", moment, () => new Promise<void>((resolve) => (end = resolve)));
    await world.clock.advance(60_000);
    expect(await world.clock.until(second.run(next))).toBe(false);
    expect(world.overlapped).toEqual([{ job: "report", moment: next }]);
    end();
    expect(await world.clock.until(running)).toBe(true);
    expect(await world.clock.until(first.run(next))).toBe(false); // it was left out for all
    await world.clock.advance(60_000);
    expect(await world.clock.until(second.run(third))).toBe(true);
    expect(world.missed).toEqual([]);
  });

  it("run() tells missed if too few nodes reply, and later whether nobody has run the moment", async () => {
    const world = new World();
    const { run } = world.process();
    const other = world.process();
    world.down = 2;
    const moment = world.moment();
    await expect(world.clock.until(run(moment))).rejects.toThrow(QuorumUnreachableError);
    expect(world.missed).toEqual([
      { job: "report", moment, reason: "unreachable", error: expect.any(QuorumUnreachableError) },
    ]);
    world.down = 0;
    await world.clock.advance(60_000);
    expect(await world.clock.until(run(world.moment()))).toBe(true);
    expect(world.missed.slice(1)).toEqual([{ job: "report", moment, reason: "nobody" }]);

    world.down = 2;
    const second = world.moment(1);
    await expect(world.clock.until(run(second))).rejects.toThrow(QuorumUnreachableError);
    world.down = 0;
    expect(await world.clock.until(other.run(second))).toBe(true);
    expect(await world.clock.until(run(world.moment()))).toBe(true);
    expect(world.missed).toHaveLength(3);
  });

  it("run() runs a moment although too few nodes replied for a second", async () => {
    const world = new World();
    world.down = 2;
    const running = world.process().run(world.moment());
    await world.clock.advance(1_000);
    world.down = 0;
    expect(await world.clock.until(running)).toBe(true);
    expect(world.missed).toEqual([]);
  });

  it("run() gives a moment back if it cannot find out whether the job is running", async () => {
    const world = new World();
    const { run } = world.process();
    const observer: Observer = {
      acquired() {
        world.down = 2;
      },
    };
    const moment = world.moment();
    const unlucky = world.process(0, {}, observer).run(moment);
    await world.clock.advance(100);
    await expect(world.clock.until(unlucky)).rejects.toThrow(QuorumUnreachableError);
    world.down = 0;
    await world.clock.advance(10_000);
    expect(world.clock.pendingTimers).toBe(0);
    expect(await world.clock.until(run(world.moment()))).toBe(true);
  });

  it("run() ignores errors of its callbacks", async () => {
    const world = new World();
    const missed = () => Promise.reject(new Error("of missed"));
    const overlapped = () => {
      throw new Error("of overlapped");
    };
    const { run, coordinator } = world.process(0, { missed, overlapped });
    expect(await world.clock.until(run(world.moment(-3 * hourMs)))).toBe(false);
    const nested = coordinator.run("report", world.moment(), async () => {
      expect(await world.clock.until(run(world.moment(1)))).toBe(false);
    });
    expect(await world.clock.until(nested)).toBe(true);
  });

  it("shouldRun() is true once for a key, and the job runs until onComplete()", async () => {
    const world = new World();
    const [{ coordinator: one }, { coordinator: two, redlock }] = [world.process(), world.process()];
    const key = `a:b:${world.moment().toISOString()}`;
    expect(await world.clock.until(one.shouldRun(key, 30_000))).toBe(true);
    expect(await world.clock.until(two.shouldRun(key, 30_000))).toBe(false);
    await world.clock.until(two.onComplete(key));
    const state = async () => (await world.clock.until(redlock.inspect("cron:a:b:running"))).state;
    expect(await state()).toBe("held");
    await world.clock.until(one.onComplete(key));
    expect(await state()).toBe("free");
    expect(await world.clock.until(two.shouldRun(key, 30_000))).toBe(false);
  });

  it("refuses bad arguments", async () => {
    const { redlock, coordinator } = new World().process();
    expect(() => cronCoordinator({} as never)).toThrow("redlock must be an object with the method acquire");
    expect(() => cronCoordinator(redlock, { hold: 5 } as never)).toThrow("hold is not an option of cronCoordinator");
    expect(() => cronCoordinator(redlock, { holdMs: 0 })).toThrow("holdMs must be a positive integer, not 0");
    expect(() => cronCoordinator(redlock, { holdMs: 2 ** 31 })).toThrow("holdMs must be at most");
    expect(() => cronCoordinator(redlock, { missed: "no" as never })).toThrow(
      "missed must be a function, not a string",
    );
    await expect(coordinator.shouldRun("report", 1)).rejects.toThrow(
      "key must end in a colon and a moment in ISO 8601",
    );
    await expect(coordinator.run("report", new Date(Number.NaN), () => {})).rejects.toThrow(
      "moment must be a valid Date",
    );
  });
});
