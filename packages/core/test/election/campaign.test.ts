import { ConfigurationError, LockLostError } from "@holdfast/core";
import { type ElectionObserver, election, type Term, TermEndedError } from "@holdfast/core/election";
import { describe, expect, it } from "vitest";
import { candidate, expectInOrder, ttlMs } from "../support/candidate.ts";
import { steal, type World, world } from "../world.ts";

function latency(nodes: World["nodes"], ms: number): void {
  for (const node of nodes) node.fault = () => ({ requestMs: ms / 2, replyMs: ms / 2 });
}

describe("campaign()", () => {
  it("campaign() ends a term before the next leader begins when the leader is cut off, and stands again", async () => {
    const all = world(3);
    const cut = candidate(all, all.redlock);
    await all.clock.advance(1);
    const other = candidate(all, all.otherClient());
    await all.clock.advance(10_000);
    expect(cut.terms).toHaveLength(1);

    for (const node of all.nodes) node.fault = () => ({ lose: "request" });
    await all.clock.advance(ttlMs + 1_000);
    expect(other.terms).toHaveLength(1);
    expect(cut.current?.signal.reason).toBeInstanceOf(TermEndedError);
    expect(cut.current?.signal.reason).toMatchObject({
      code: "TERM_ENDED",
      reason: "unreachable",
      resources: ["jobs"],
    });
    expect(cut.current?.remainingMs()).toBe(0);

    for (const node of all.nodes) node.fault = () => undefined;
    other.stop();
    await all.clock.until(other.ended);
    await all.clock.advance(1_000);
    expect(cut.terms).toHaveLength(2);
    expectInOrder(cut, other);
  });

  it("campaign() elects the next leader within the ttl and a second after a leader died", async () => {
    for (const watched of [true, false]) {
      const all = world(3, { ttlMs });
      if (!watched) for (const node of all.inner) Object.assign(node, { watch: undefined });
      const dead = await all.otherClient({ ttlMs }).acquire("jobs");
      const next = candidate(all, all.redlock);
      await all.clock.advance(dead.remainingMs() + 1_000);
      expect(next.terms).toHaveLength(1);
    }
  });

  it.each(["another process", "the same process"])(
    "campaign() elects the next leader within 100 ms after a resignation, in %s",
    async (where) => {
      const all = world(3);
      const first = candidate(all, where === "another process" ? all.otherClient() : all.redlock);
      await all.clock.advance(1_000);
      latency(all.nodes, 10);
      const second = candidate(all, all.redlock);
      await all.clock.advance(1_000);
      const resigned = first.current?.resign() ?? Promise.reject();
      await all.clock.advance(100);
      await resigned;
      expect(second.terms).toHaveLength(1);
      expectInOrder(first, second);
    },
  );

  it.each<[string, { readonly maxHoldMs?: number }]>([
    ["a resignation", {}],
    ["a term of maxHoldMs", { maxHoldMs: 5_000 }],
  ])("campaign() leads again a second after %s if nobody else stands", async (_, options) => {
    const all = world(3);
    const only = candidate(all, all.redlock, options);
    await all.clock.advance(1);
    if (options.maxHoldMs === undefined) await all.clock.until(only.current?.resign() ?? Promise.reject());
    await all.clock.advance(6_100);
    const [first, second] = only.terms;
    const pauseMs = (second?.beganMs ?? 0) - (first?.endedMs ?? 0);
    expect(pauseMs).toBeGreaterThanOrEqual(1_000);
    expect(pauseMs).toBeLessThanOrEqual(1_009);
  });

  it("campaign() resigns when the body of its loop ends, and with it the term", async () => {
    const all = world(3);
    const seen: Term[] = [];
    const run = async (): Promise<void> => {
      for await (const term of election(all.redlock, "jobs").campaign()) {
        expect(await all.heldOn("jobs")).toEqual(["a", "b", "c"]);
        seen.push(term);
        if (seen.length === 2) break;
      }
    };
    const ended = run();
    await all.clock.advance(10);
    expect(seen[0]?.signal.reason).toMatchObject({ reason: "resigned" });
    expect(await all.heldOn("jobs")).toEqual([]);
    await all.clock.until(ended);
    expect(seen[1]?.signal.reason).toMatchObject({ reason: "stopped" });
    await all.expectNothingLeft(0, "jobs");
  });

  it("campaign() yields nothing if its signal has aborted, or aborts when the term begins", async () => {
    const all = world(3);
    const none = election(all.redlock, "jobs").campaign({ signal: AbortSignal.abort() });
    expect(await none.next()).toEqual({ done: true, value: undefined });
    expect(all.nodes[0]?.calls).toEqual([]);

    const stop = new AbortController();
    const observer = { elected: () => stop.abort() };
    const late = election(all.redlock, "jobs", { observer }).campaign({ signal: stop.signal });
    expect(await all.clock.until(late.next())).toEqual({ done: true, value: undefined });
    expect(await all.heldOn("jobs")).toEqual([]);
  });

  it("campaign() keeps the lock while the body finishes after an abort, and releases it then", async () => {
    const all = world(3);
    const stop = new AbortController();
    let finish = (): void => {};
    const run = async (): Promise<void> => {
      for await (const term of election(all.redlock, "jobs", { ttlMs }).campaign({ signal: stop.signal })) {
        await new Promise((resolve) => term.signal.addEventListener("abort", resolve));
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
      }
    };
    const ended = run();
    await all.clock.advance(5_000);
    stop.abort();
    await all.clock.advance(500);
    expect(await all.heldOn("jobs")).toEqual(["a", "b", "c"]);
    finish();
    await all.clock.until(ended);
    await all.expectNothingLeft(0, "jobs");
  });

  it("campaign() releases the lock of a body that does not finish after an abort, no later than its ttl", async () => {
    const all = world(3);
    const stop = new AbortController();
    const terms = election(all.redlock, "jobs", { ttlMs }).campaign({ signal: stop.signal });
    const { value: term } = await all.clock.until(terms.next());
    stop.abort();
    expect(term?.signal.reason).toMatchObject({ reason: "stopped" });
    await all.expectNothingLeft(ttlMs, "jobs");
    expect(await all.clock.until(terms.next())).toEqual({ done: true, value: undefined });
  });

  it("campaign() leaves no timer behind when a listener of the term's signal resigns", async () => {
    const all = world(3);
    const stop = new AbortController();
    const { value: term } = await election(all.redlock, "jobs").campaign({ signal: stop.signal }).next();
    term?.signal.addEventListener("abort", () => void term.resign());
    stop.abort();
    await all.expectNothingLeft(100, "jobs");
  });

  it("campaign() leaves nothing behind whenever it is stopped", { timeout: 30_000 }, async () => {
    for (const [stepMs, heldMs] of [
      [2, 0],
      [7, 60],
      [400, 600_000],
    ] as const) {
      for (const how of ["abort", "return"]) {
        for (let atMs = 0; atMs < 30 * stepMs; atMs += stepMs) {
          const all = world(3);
          const other = heldMs > 0 ? await all.otherClient().acquire("jobs", { ttlMs: heldMs }) : undefined;
          latency(all.nodes, 10);
          const stop = new AbortController();
          const terms = election(all.redlock, "jobs", { ttlMs }).campaign({ signal: stop.signal });
          const ended = (async () => {
            for await (const { signal } of terms) await new Promise((over) => signal.addEventListener("abort", over));
          })();
          await all.clock.advance(atMs);
          if (how === "abort") stop.abort();
          else void terms.return?.();
          await all.clock.until(ended);
          await other?.release();
          await all.clock.advance(1_200); // core ends its watches a second after the last waiter
          const left = { timers: all.clock.pendingTimers, heldOn: await all.heldOn("jobs") };
          expect({ how, atMs, heldMs, ...left }).toEqual({ how, atMs, heldMs, timers: 0, heldOn: [] });
        }
      }
    }
  });

  it("campaign() reports a refused attempt to its observer, and backs off", async () => {
    const all = world(3, { maxWaiters: 1 });
    await all.otherClient().acquire("other", { autoExtend: true });
    const busy = new AbortController();
    const other = all.redlock.acquire("other", { waitTimeoutMs: Infinity, signal: busy.signal }).catch(() => {});
    const failures: { readonly error: unknown; readonly retryInMs: number }[] = [];
    const standing = candidate(all, all.redlock, {
      observer: { campaignFailed: (event) => void failures.push(event) },
    });
    await all.clock.advance(30_000);
    expect(failures.length).toBeGreaterThan(5);
    expect(failures.length).toBeLessThan(20);
    expect(failures[0]).toMatchObject({ name: "jobs", error: { code: "QUEUE_FULL" } });
    expect(Math.max(...failures.map(({ retryInMs }) => retryInMs))).toBeLessThanOrEqual(5_000);
    busy.abort();
    await all.clock.until(other);
    await all.clock.advance(5_000);
    expect(standing.terms).toHaveLength(1);
  });

  it("campaign() rejects when a node reports a configuration error, or the options do not fit", async () => {
    const all = world(3);
    for (const node of all.nodes) node.fault = () => ({ reject: new ConfigurationError("a replica", ["jobs"]) });
    await expect(all.clock.until(election(all.redlock, "jobs").campaign().next())).rejects.toThrow(ConfigurationError);
    const tooShort = election(all.redlock, "jobs", { ttlMs: 40 }).campaign();
    await expect(tooShort.next()).rejects.toThrow(RangeError);
  });

  it("campaign() rejects when the Redlock is closed, also while it waits", async () => {
    const all = world(3);
    await all.otherClient().acquire("jobs", { autoExtend: true });
    const waiting = candidate(all, all.redlock).ended.catch((error: unknown) => error);
    await all.clock.advance(100);
    await all.clock.until(all.redlock.close());
    expect(await all.clock.until(waiting)).toMatchObject({ code: "CLOSED" });
    await expect(election(all.redlock, "jobs").campaign().next()).rejects.toMatchObject({ code: "CLOSED" });
  });

  it("campaign() adds one listener to a signal that many elections share, and removes it", async () => {
    const all = world(1);
    const { signal } = new AbortController();
    let listeners = 0;
    let listenersMax = 0;
    const [add, remove] = [signal.addEventListener, signal.removeEventListener];
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      listenersMax = Math.max(listenersMax, listeners);
      add.apply(signal, args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1;
      remove.apply(signal, args);
    };
    const run = async (name: string): Promise<void> => {
      for await (const _ of election(all.redlock, name).campaign({ signal })) break;
    };
    for (let round = 0; round < 20; round++) await Promise.all(["a", "b", "c", "d"].map(run));
    expect({ listeners, listenersMax }).toEqual({ listeners: 0, listenersMax: 1 });
    expect(all.clock.pendingTimers).toBe(0);
  });
});

describe("resign()", () => {
  it("resign() of a term aborts its signal before any node learns of the release", async () => {
    const all = world(3);
    const { value: term } = await election(all.redlock, "jobs").campaign().next();
    let releasesBefore: number | undefined;
    term?.signal.addEventListener("abort", () => {
      releasesBefore = all.nodes.flatMap((node) => node.callsOf("release")).length;
    });
    await term?.resign();
    await term?.resign(); // harmless
    expect(releasesBefore).toBe(0);
    expect(term?.remainingMs()).toBe(0);
    expect(await all.heldOn("jobs")).toEqual([]);
  });

  it.each(["resigned", "stopped"])(
    "Term.extend() rejects, and the term ends for good, if it is %s meanwhile",
    async (reason) => {
      const all = world(3);
      const leader = candidate(all, all.redlock);
      await all.clock.advance(1);
      latency(all.nodes, 40);
      const extension = expect(leader.current?.extend()).rejects.toMatchObject({ code: "TERM_ENDED", reason });
      await all.clock.advance(30); // the nodes have extended, and their replies are on the way
      if (reason === "stopped") leader.stop();
      const resigned = reason === "resigned" ? leader.current?.resign() : leader.ended;
      expect(leader.current?.signal.aborted).toBe(true);
      await all.clock.until(resigned ?? Promise.reject());
      await extension;
      await all.clock.advance(500);
      expect(await all.heldOn("jobs")).toEqual([]);
    },
  );

  it("resign() of an election ends its term, and is harmless without one", async () => {
    const all = world(3);
    const jobs = election(all.redlock, "jobs");
    await jobs.resign();
    const terms = jobs.campaign();
    const { value: term } = await terms.next();
    await jobs.resign();
    expect(term?.signal.reason).toMatchObject({ reason: "resigned" });
    expect(await all.heldOn("jobs")).toEqual([]);
    await terms.return?.();
    await jobs.resign();
  });
});

describe("Term", () => {
  it("Term.signal has aborted once the validity is over, also if the machine was suspended meanwhile", async () => {
    const all = world(3);
    const { value: term } = await election(all.redlock, "jobs", { ttlMs }).campaign().next();
    all.clock.suspend(ttlMs);
    expect(term?.signal.aborted).toBe(true);
    await expect(term?.extend()).rejects.toBeInstanceOf(TermEndedError);
    expect(term?.signal.reason).not.toBeInstanceOf(LockLostError);
  });

  it("Term.extend() confirms the term, and rejects when it turns out to be lost", async () => {
    const all = world(3);
    const { value: term } = await election(all.redlock, "jobs", { ttlMs }).campaign().next();
    await all.clock.advance(300);
    await term?.extend();
    expect(term?.remainingMs()).toBeGreaterThan(ttlMs - 100);
    await steal(all.inner, "jobs", term?.owner ?? "");
    await expect(all.clock.until(term?.extend() ?? Promise.reject())).rejects.toMatchObject({
      code: "TERM_ENDED",
      reason: "not-held",
      outcomes: [{ kind: "not-held" }, { kind: "not-held" }, {}],
    });
  });
});

describe("ElectionObserver", () => {
  it("ElectionObserver receives the beginning and the end of each term, and cannot disturb them", async () => {
    const all = world(3);
    const events: unknown[] = [];
    const record = (event: unknown): never => {
      events.push(event);
      throw new Error("a broken observer");
    };
    const observer: ElectionObserver = { elected: record, termEnded: async (event) => record(event) };
    const leader = candidate(all, all.redlock, { observer, label: "host-1" });
    await all.clock.advance(1_500);
    leader.stop();
    await all.clock.until(leader.ended);
    const [{ fence } = { fence: 0 }] = leader.terms;
    const common = { name: "jobs", fence, owner: expect.stringMatching(/^host-1:/) };
    expect(events).toEqual([
      { ...common, waitedMs: 0 },
      { ...common, ledMs: 1_500, error: expect.objectContaining({ reason: "stopped", fence }) },
    ]);
  });
});
