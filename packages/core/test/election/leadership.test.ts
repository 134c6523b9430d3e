import { Redlock } from "@holdfast/core";
import { election, type Leadership } from "@holdfast/core/election";
import { describe, expect, it } from "vitest";
import { claimOf, countWatches, type World, world } from "../world.ts";

const ttlMs = 2_000;

/** Records whom the election names, and when. */
function watcher({ clock, redlock }: World) {
  const stop = new AbortController();
  const seen: { readonly state: Leadership["state"]; readonly label: string | null; readonly atMs: number }[] = [];
  const run = async (): Promise<void> => {
    for await (const { state, leader } of election(redlock, "jobs").observe({ signal: stop.signal })) {
      seen.push({ state, label: leader?.label ?? null, atMs: clock.monotonicMs() });
    }
  };
  return { seen, stop: () => stop.abort(), ended: run() };
}

/** Expects that an observer sees the release of a leader that has led for `ledMs`, `withinMs` after it. */
async function expectSeen(all: World, ledMs: number, withinMs: number): Promise<void> {
  const lock = await all.otherClient().acquire("jobs", { ttlMs: 60_000 });
  const { seen, stop } = watcher(all);
  await all.clock.advance(ledMs);
  await lock.release();
  await all.clock.advance(withinMs);
  expect(seen.map(({ state }) => state)).toEqual(["led", "vacant"]);
  stop();
}

describe("leader()", () => {
  it("leader() returns the label, the owner, the number and the remaining time of the leader", async () => {
    const all = world(3);
    const jobs = election(all.redlock, "jobs", { label: "host-1", ttlMs });
    expect(await jobs.leader()).toBeNull();
    const { value: term } = await jobs.campaign().next();
    const { owner, fence } = term ?? {};
    expect(await election(all.otherClient(), "jobs").leader()).toEqual({
      owner,
      fence,
      label: "host-1",
      remainingMs: ttlMs,
    });
    await term?.resign();
    expect(await jobs.leader()).toBeNull();
  });

  it("leader() returns the number of the term, whatever counter a node outside of its quorum has", async () => {
    const all = world(3);
    await all.inner[2]?.acquire({ ...claimOf("earlier", "jobs", 1), fenceHint: all.clock.wallMs() * 1000 + 10 ** 9 });
    await all.clock.advance(10);
    all.node("c").fault = () => ({ requestMs: 20 }); // too late to be counted
    const { value: term } = await all.clock.until(election(all.redlock, "jobs").campaign().next());
    await all.clock.advance(100);
    expect((await all.inner[2]?.inspect("jobs"))?.fence).toBeGreaterThan(term?.fence ?? Infinity);
    expect((await all.clock.until(election(all.redlock, "jobs").leader()))?.fence).toBe(term?.fence);
  });

  it("leader() rejects when too few nodes reply to tell", async () => {
    const all = world(3);
    for (const name of ["a", "b"]) all.node(name).fault = () => ({ reject: new Error("down") });
    await expect(election(all.redlock, "jobs").leader()).rejects.toMatchObject({
      code: "QUORUM_UNREACHABLE",
      message: "could not tell who leads jobs: 1 of 3 nodes replied, a quorum is 2; a failed: down; b failed: down",
      outcomes: [{ kind: "failed" }, { kind: "failed" }, { kind: "not-held" }],
    });
  });
});

describe("observe()", () => {
  it("observe() soon notices the end of a leader that knows only one of two sets, which announces nothing", async () => {
    const all = world(8);
    const [old, next] = [all.nodes.slice(0, 3), all.nodes.slice(3)];
    for (const node of old) delete node.watch;
    const redlock = new Redlock({ old, new: next }, { clock: all.clock });
    const lock = await new Redlock(old, { clock: all.clock }).acquire("jobs", { ttlMs: 60_000 });
    const { seen, stop, ended } = watcher({ ...all, redlock });
    await all.clock.advance(5_000);
    await lock.release();
    await all.clock.advance(1_100); // the longest time between two looks where releases are not announced
    expect(seen.map(({ state }) => state)).toEqual(["led", "vacant"]);
    stop();
    await ended;
  });

  it("observe() yields each leader soon after it is elected, and a leader that resigns immediately", async () => {
    const all = world(3);
    const { seen, stop, ended } = watcher(all);
    await all.clock.advance(1);
    const first = await all.otherClient().acquire("jobs", { label: "first", ttlMs, autoExtend: true });
    await all.clock.advance(10_000);
    const second = all.otherClient().acquire("jobs", {
      label: "second",
      ttlMs,
      autoExtend: true,
      waitTimeoutMs: Infinity,
    });
    await all.clock.advance(10_000);
    await first.release();
    await all.clock.advance(1_000);
    const led = seen.filter(({ state }) => state === "led");
    expect(led.map(({ label }) => label)).toEqual(["first", "second"]);
    expect(led[0]?.atMs).toBeLessThan(50);
    expect(led[1]?.atMs).toBeLessThan(20_050);
    const count = seen.length;
    stop();
    await ended;
    await (await second).release();
    await all.clock.advance(10_000);
    expect(seen).toHaveLength(count);
  });

  it("observe() looks once for each claim's end while a leader leads, and each second without notifications", async () => {
    for (const [watched, looksMax] of [
      [true, 8],
      [false, 12],
    ] as const) {
      const all = world(3);
      if (!watched) for (const node of all.nodes) delete node.watch;
      await all.otherClient().acquire("jobs", { ttlMs, autoExtend: true });
      const { seen, stop } = watcher(all);
      await all.clock.advance(0);
      const looksBefore = all.nodes[0]?.callsOf("inspect").length ?? 0;
      await all.clock.advance(10_000);
      const looks = (all.nodes[0]?.callsOf("inspect").length ?? 0) - looksBefore;
      expect(looks).toBeGreaterThanOrEqual(4);
      expect(looks).toBeLessThanOrEqual(looksMax);
      expect(seen).toHaveLength(1);
      stop();
    }
  });

  it("observe() tells an unknown leader from none, and recovers", async () => {
    const all = world(3);
    const { seen } = watcher(all);
    await all.clock.advance(5_000);
    for (const node of all.nodes) node.fault = () => ({ reject: new Error("down") });
    await all.clock.advance(5_000);
    for (const node of all.nodes) node.fault = () => undefined;
    await all.clock.advance(5_000);
    expect(seen.map(({ state }) => state)).toEqual(["vacant", "unknown", "vacant"]);
  });

  it("observe() ends all watches and timers when its loop is left, and adds no listener that stays", async () => {
    const all = world(3);
    const watching = countWatches(all.nodes);
    for await (const { state } of election(all.redlock, "jobs").observe()) {
      expect(state).toBe("vacant");
      break;
    }
    const looking = election(all.redlock, "jobs").observe();
    await looking.next();
    const next = looking.next();
    await all.clock.advance(50);
    await looking.return?.();
    expect(await next).toEqual({ done: true, value: undefined });
    await all.clock.advance(0);
    expect({ watching: watching(), timers: all.clock.pendingTimers }).toEqual({ watching: 0, timers: 0 });
  });
});

describe("observe() while somebody leads for long", () => {
  it("observe() ends within ten seconds after the Redlock is closed, however long the claim lasts", async () => {
    const all = world(3);
    await all.otherClient().acquire("jobs", { ttlMs: 3_600_000 });
    const { ended } = watcher(all);
    const failure = ended.catch((error: unknown) => error);
    await all.clock.advance(1_000);
    await all.clock.until(all.redlock.close());
    await all.clock.advance(10_000);
    expect(await Promise.race([failure, "still observing"])).toMatchObject({ code: "CLOSED" });
    expect(all.clock.pendingTimers).toBe(1); // that of the lock
  });

  it("observe() notices a claim's end in time although the body of its loop took long", async () => {
    const all = world(3);
    for (const node of all.nodes) node.watch = async () => async () => {}; // announces nothing
    await all.otherClient().acquire("jobs", { label: "dead", ttlMs });
    const changes = election(all.redlock, "jobs").observe();
    expect((await changes.next()).value?.leader?.label).toBe("dead");
    expect((await all.clock.until(changes.next())).value?.state).toBe("vacant");
    const led = changes.next();
    await all.otherClient().acquire("jobs", { label: "next", ttlMs });
    expect((await all.clock.until(led)).value?.leader?.label).toBe("next");
    await all.clock.advance(ttlMs - 100);
    const startedMs = all.clock.monotonicMs();
    expect((await all.clock.until(changes.next())).value?.state).toBe("vacant");
    expect(all.clock.monotonicMs() - startedMs).toBeLessThanOrEqual(110);
    await changes.return?.();
  });

  it("observe() yields the next leader also if it never saw the election vacant", async () => {
    const all = world(3);
    const lock = await all.otherClient().acquire("jobs", { label: "first", ttlMs });
    const { seen, stop } = watcher(all);
    await all.clock.advance(100);
    for (const node of all.nodes) node.fault = () => ({ requestMs: 10 });
    await lock.release();
    await all.otherClient().acquire("jobs", { label: "second", ttlMs });
    await all.clock.advance(50);
    expect(seen.map(({ label }) => label)).toEqual(["first", "second"]);
    stop();
  });

  it("observe() looks each second while fewer nodes are watched than each majority meets", async () => {
    const all = world(3);
    all.node("a").watch = async () => async () => {}; // announces nothing
    for (const name of ["b", "c"]) delete all.node(name).watch;
    await expectSeen(all, 500, 1_000);
  });
});

describe("election()", () => {
  it("election() rejects bad arguments and unknown options immediately", () => {
    const { redlock } = world(1);
    const make =
      (...args: unknown[]) =>
      () =>
        (election as (...given: unknown[]) => unknown)(...args);
    expect(make({}, "jobs")).toThrow("redlock must be an object with the method acquire");
    expect(make(redlock, 7)).toThrow("name must be a string, not 7");
    expect(make(redlock, "")).toThrow("name must be a non-empty string");
    expect(make(redlock, "jobs", { ttl: 1 })).toThrow("ttl is not an option of an election: did you mean ttlMs?");
    expect(make(redlock, "jobs", { ttlMs: 1.5 })).toThrow("ttlMs must be a positive integer");
    expect(make(redlock, "jobs", { label: 7 })).toThrow("label must be a string");
    expect(make(redlock, "jobs", { observer: 7 })).toThrow(TypeError);
    expect(make(redlock, "jobs", { observer: null })).toThrow(TypeError);
    expect(make(redlock, "jobs", { observer: { elect: () => {} } })).toThrow("did you mean elected?");
    expect(make(redlock, "jobs", { observer: { elected: 7 } })).toThrow("observer.elected must be a function");
    const jobs = election(redlock, "jobs");
    expect(() => jobs.campaign({ signal: 7 as never })).toThrow("signal must be an AbortSignal");
    expect(() => jobs.observe({ signals: 7 } as never)).toThrow("did you mean signal?");
  });
});
