import { AsyncLocalStorage } from "node:async_hooks";
import { type LockOptions, Redlock } from "@holdfast/core";
import { describe, expect, it } from "vitest";
import { claimOf, world } from "../world.ts";

describe("the observer", () => {
  it("observer receives attempts, locks, extensions, releases, losses and node failures", async () => {
    const { redlock, clock, node, events, inner } = world(3);
    for (const each of inner) await each.acquire(claimOf("other", "r", 100));
    node("c").fault = () => ({ reject: new Error("down") });
    const lock = await clock.until(redlock.acquire("r"));
    await clock.until(lock.extend());
    await clock.until(lock.release());
    const lost = await clock.until(redlock.acquire("r"));
    await clock.advance(10_000);

    const of = (name: string) => events.filter(([each]) => each === name).map(([, event]) => event);
    expect(of("attemptSettled")[0]).toMatchObject({ resources: ["r"], outcome: "held", elapsedMs: 0 });
    const outcomes = [
      { node: "a", kind: "denied", heldResources: ["r"] },
      { node: "b", kind: "unanswered" }, // the outcome was certain without it
      { node: "c", kind: "failed" },
    ];
    expect(of("attemptSettled")[0]).toMatchObject({ outcomes });
    expect(of("attemptSettled").at(-1)).toMatchObject({ outcome: "acquired" });
    expect(of("acquired")[0]).toMatchObject({ resources: ["r"], owner: lock.owner, fence: lock.fence });
    expect((of("acquired")[0] as { waitedMs: number }).waitedMs).toBeGreaterThanOrEqual(100);
    expect((of("acquired")[0] as { attempts: number }).attempts).toBe(of("attemptSettled").length - 1);
    expect(of("extended")[0]).toMatchObject({ fence: lock.fence, remainingMs: 9898 });
    expect(of("released")[0]).toMatchObject({ owner: lock.owner, heldMs: 0, confirmed: true });
    expect(of("lost")[0]).toMatchObject({ owner: lost.owner, error: { code: "LOCK_LOST" } });
    expect(of("nodeFailed")[0]).toMatchObject({ node: "c", method: "acquire", error: { message: "down" } });
  });

  it("observer learns from when on a lock is valid, and for how long, on both clocks", async () => {
    const { redlock, clock, nodes, events } = world(3);
    const startedAt = { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
    for (const each of nodes) each.fault = () => ({ requestMs: 5, replyMs: 5 });
    const lock = await clock.until(redlock.acquire("r", { mode: "shared" }));
    await clock.until(lock.extend({ ttlMs: 20_000 }));
    expect(events.map(([, event]) => event).filter((event) => "validityMs" in event)).toMatchObject([
      { mode: "shared", startedAt, validityMs: 9_898 },
      {
        startedAt: { monotonicMs: startedAt.monotonicMs + 10, wallMs: startedAt.wallMs + 10 },
        ...{ validityMs: 19_798, remainingMs: 19_788 },
      },
    ]);
  });

  it("observer.releasing() is called once, before a node is asked to release the lock", async () => {
    const { clock, nodes } = world(3);
    const requests = () => nodes.flatMap(({ calls }) => calls).length;
    const seen: number[] = [];
    const redlock = new Redlock(nodes, { clock, observer: { releasing: () => void seen.push(requests()) } });
    const lock = await clock.until(redlock.acquire("r"));
    const before = requests();
    await clock.until(Promise.all([lock.release(), lock.release()]));
    expect(seen).toEqual([before]);
  });

  const withoutLock: [string, "acquire" | "tryAcquire", LockOptions, object][] = [
    ["tryAcquire() returns null", "tryAcquire", {}, { code: "LOCK_HELD" }],
    ["acquire() does not wait", "acquire", { waitTimeoutMs: 0 }, { code: "LOCK_HELD" }],
    ["acquire() times out", "acquire", { waitTimeoutMs: 70 }, { code: "WAIT_TIMEOUT" }],
    ["the caller gives up", "acquire", { signal: AbortSignal.abort(new Error("enough")) }, { message: "enough" }],
  ];
  it.each(withoutLock)("observer.acquireFailed() is called when %s", async (_, method, options, error) => {
    const { redlock, clock, events, otherClient } = world(3);
    await clock.until(otherClient().acquire("r"));
    await clock.until(redlock[method]("r", options).catch(() => null));
    const [name, event] = events.at(-1) ?? [];
    expect({ name, event }).toMatchObject({ name: "acquireFailed", event: { resources: ["r"], error } });
    expect(event?.waitedMs).toBe(options.waitTimeoutMs ?? 0);
  });

  it("observer receives one resources array in all events of a call and its lock, and in no others", async () => {
    const { redlock, clock, node, events, otherClient } = world(3);
    await clock.until(otherClient({ ttlMs: 200 }).acquire("r"));
    node("c").fault = () => ({ reject: new Error("down") });
    const lock = await clock.until(redlock.acquire("r"));
    await clock.until(lock.extend());
    await clock.until(lock.release());
    const ofFirst = new Set(events.map(([, { resources }]) => resources));
    expect(new Set(events.map(([name]) => name)).size).toBe(6);
    expect([...ofFirst]).toEqual([lock.resources]);
    const second = await clock.until(redlock.acquire("r"));
    expect(ofFirst).not.toContain(second.resources);
  });

  it("observer is called in the asynchronous context of the caller, even if another call woke it", async () => {
    const { nodes, clock } = world(3);
    const context = new AsyncLocalStorage<string>();
    const heard: (string | undefined)[] = [];
    const hear = () => void heard.push(context.getStore());
    const redlock = new Redlock(nodes, { clock, observer: { acquired: hear, acquireFailed: hear } });
    const first = await clock.until(context.run("first", () => redlock.acquire("r")));
    const second = context.run("second", () => redlock.acquire("r", { autoExtend: true }));
    const third = context.run("third", () => redlock.acquire("r", { waitTimeoutMs: 100 }));
    await clock.until(context.run("releasing", () => first.release()));
    await clock.until(second);
    await expect(clock.until(third)).rejects.toMatchObject({ code: "WAIT_TIMEOUT" });
    expect(heard).toEqual(["first", "second", "third"]);
  });

  it("observer cannot break an operation by throwing or rejecting", async () => {
    const { nodes, clock } = world(3);
    const fails = () => {
      throw new Error("of the observer");
    };
    const rejects = async () => fails();
    const observer = {
      attemptSettled: fails,
      acquired: rejects,
      acquireFailed: fails,
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
