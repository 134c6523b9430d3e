import { NotSentError } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { VirtualClock } from "@holdfast/testkit";
import { describe, expect, it } from "vitest";
import { operationsMax, RequestLimit } from "../../src/request-limit.ts";
import { claimOf, world } from "../world.ts";

const forever = { patienceMs: Number.POSITIVE_INFINITY };

/** Whether the next operation must wait. */
function isSaturated(limit: RequestLimit): boolean {
  const hasPermit = limit.enter();
  if (hasPermit) limit.leave();
  return !hasPermit;
}

/** A limit of which all but some permits are in use. */
function limitOf(permits: number) {
  const clock = new VirtualClock();
  const limit = new RequestLimit(clock, []);
  for (let taken = permits; taken < operationsMax; taken++) void limit.run(() => new Promise(() => {}), forever);
  const ran: string[] = [];
  /** Creates a task that takes this long, and fails if an error is given. */
  const task = (name: string, ms: number, error?: Error) => () => {
    ran.push(name);
    return new Promise<string>((resolve, reject) => {
      clock.deliver(ms, () => (error === undefined ? resolve(name) : reject(error)));
    });
  };
  return { clock, limit, ran, task };
}

describe("RequestLimit (W6)", () => {
  it("run() starts tasks immediately while there are permits, and others in order as permits are returned", async () => {
    const { clock, limit, ran, task } = limitOf(2);
    const all = ["a", "b", "c", "d"].map((name, index) => limit.run(task(name, 10 + index), forever));
    expect(ran).toEqual(["a", "b"]);
    expect(isSaturated(limit)).toBe(true);
    await clock.until(Promise.all(all));
    expect(ran).toEqual(["a", "b", "c", "d"]);
    expect(isSaturated(limit)).toBe(false);
    expect(clock.pendingTimers).toBe(0);
  });

  it("run() starts urgent tasks first, however many wait", async () => {
    const { clock, limit, ran, task } = limitOf(1);
    const all = ["a", "b", "c"].map((name) => limit.run(task(name, 1), forever));
    const urgent = limit.run(task("release", 1), { ...forever, isUrgent: true });
    await clock.until(urgent);
    expect(ran.slice(0, 2)).toEqual(["a", "release"]);
    await clock.until(Promise.all(all));
    expect(isSaturated(limit)).toBe(false);
  });

  it("run() returns the permit of a task that rejects", async () => {
    const { clock, limit, ran, task } = limitOf(1);
    const failed = limit.run(task("a", 1, new Error("no")), forever);
    const next = limit.run(task("b", 1), forever);
    await expect(clock.until(failed)).rejects.toThrow("no");
    await clock.until(next);
    expect(ran).toEqual(["a", "b"]);
    expect(isSaturated(limit)).toBe(false);
  });

  it("run() gives up at the deadline or on the signal without running the task or using a permit", async () => {
    const { clock, limit, ran, task } = limitOf(1);
    const controller = new AbortController();
    const first = limit.run(task("a", 100), forever);
    const late = limit.run(task("late", 1), { patienceMs: 50 });
    const aborted = limit.run(task("aborted", 1), { ...forever, signal: controller.signal });
    const last = limit.run(task("last", 1), forever);
    await clock.advance(60);
    expect(await late).toBeUndefined();
    controller.abort();
    expect(await clock.until(aborted)).toBeUndefined();
    await clock.until(first);
    await clock.until(last);
    expect(ran).toEqual(["a", "last"]);
    expect(isSaturated(limit)).toBe(false);
    expect(clock.pendingTimers).toBe(0);
  });

  it("run() does not pass a permit to a task that gives up in the tick in which the permit is returned", async () => {
    const { clock, limit, ran, task } = limitOf(1);
    const controller = new AbortController();
    let end = (_: string): void => {};
    const first = limit.run(
      () =>
        new Promise<string>((resolve) => {
          end = resolve;
        }),
      forever,
    );
    const late = limit.run(task("late", 1), { ...forever, signal: controller.signal });
    const last = limit.run(task("last", 1), forever);
    end("first");
    controller.abort();
    expect(await clock.until(Promise.all([first, late, last]))).toEqual(["first", undefined, "last"]);
    expect(ran).toEqual(["last"]);
    expect(isSaturated(limit)).toBe(false);
  });
});

describe("a node that owes replies (W5)", () => {
  const timeoutMs = 100;

  /** A limit for one node, and the numbers of the requests that it owes. */
  function owing() {
    const clock = new VirtualClock();
    const node = memoryNode({ name: "a", clock });
    const limit = new RequestLimit(clock, [node]);
    const sent: number[] = [];
    /** Sends requests until one is refused or this many are sent, and returns how many were sent. */
    const send = (count: number, isRelease = false): number => {
      for (let index = 0; index < count; index++) {
        const number = limit.begin(timeoutMs, node, isRelease);
        if (number === undefined) return index;
        sent.push(number);
      }
      return count;
    };
    const answer = (count: number): void => {
      for (const number of sent.splice(0, count)) limit.end(number, node);
    };
    return { clock, node, limit, send, answer };
  }

  it("makes operations wait while it owes 512 and answers", async () => {
    const { clock, limit, send, answer } = owing();
    send(511);
    expect(isSaturated(limit)).toBe(false);
    send(100);
    expect(isSaturated(limit)).toBe(true);
    const waiting = limit.run(async () => "ran", forever);
    for (let round = 0; round < 5; round++) {
      await clock.advance(40);
      answer(10);
      expect(isSaturated(limit)).toBe(true);
    }
    answer(60);
    expect(await waiting).toBe("ran");
    answer(501);
    expect(clock.pendingTimers).toBe(0);
  });

  it("is not waited for once it has been silent for 50 ms, and gets no more until it answers", async () => {
    const { clock, limit, send, answer } = owing();
    send(600);
    const waiting = limit.run(async () => "ran", forever);
    await clock.advance(49);
    expect(isSaturated(limit)).toBe(true);
    await clock.advance(1);
    expect(await waiting).toBe("ran");
    expect(clock.pendingTimers).toBe(0);
    await clock.advance(timeoutMs);
    expect(send(2)).toBe(1); // finds out whether it answers again
    expect(send(10, true)).toBe(10); // releases
    for (let times = 0; times < 3; times++) {
      await clock.advance(timeoutMs - 1);
      expect(send(1)).toBe(0);
      await clock.advance(1);
      expect(send(2)).toBe(1);
    }
    expect(isSaturated(limit)).toBe(false);
    answer(1);
    expect(send(1)).toBe(1);
    expect(isSaturated(limit)).toBe(true);
  });

  it("is not waited for at all if it has been silent since it owed 256", async () => {
    const { clock, limit, send, answer } = owing();
    send(257);
    await clock.advance(50);
    send(255);
    expect(isSaturated(limit)).toBe(false);
    expect(clock.pendingTimers).toBe(0);
    answer(256);
    send(256);
    expect(isSaturated(limit)).toBe(true);
    answer(512);
    expect(clock.pendingTimers).toBe(0);
  });

  it("owes nothing that was sent before a request that it has answered", () => {
    const { limit, node, send } = owing();
    send(600);
    limit.end(600, node);
    limit.end(1, node);
    send(511);
    expect(isSaturated(limit)).toBe(false);
    send(1);
    expect(isSaturated(limit)).toBe(true);
  });
});

describe("calls beyond the limit", { timeout: 30_000 }, () => {
  it("release() goes ahead of hundreds of attempts that wait for a permit", async () => {
    const { redlock, clock, nodes } = world(3, { waitTimeoutMs: 60_000 });
    const lock = await clock.until(redlock.acquire("mine"));
    for (const node of nodes) node.fault = () => ({ requestMs: 5, replyMs: 5 });
    const others = Array.from({ length: 400 }, (_, index) => redlock.acquire(`r${index}`));
    const beganMs = clock.monotonicMs();
    await clock.until(lock.release());
    expect(clock.monotonicMs() - beganMs).toBeLessThanOrEqual(20);
    for (const each of await clock.until(Promise.all(others))) await clock.until(each.release());
    expect(clock.pendingTimers).toBe(0);
  });

  it("tryAcquire() undoes nothing on a silent node that was not sent the claim (W5)", async () => {
    const { redlock, clock, node, otherClient } = world(3);
    const [a, c] = [node("a"), node("c")];
    await clock.until(otherClient().acquire("taken"));
    c.fault = () => ({ lose: "reply" });
    await clock.until(Promise.all(Array.from({ length: 700 }, (_, index) => redlock.acquire(`r${index}`))));
    await clock.advance(1_000);
    const claims = c.callsOf("acquire").length;
    for (let attempts = 0; attempts < 3; attempts++) expect(await clock.until(redlock.tryAcquire("taken"))).toBeNull();
    expect(c.callsOf("acquire").length - claims).toBe(1); // which finds out whether it answers again
    expect([a.callsOf("release").length, c.callsOf("release").length]).toEqual([3, 1]);
  });

  it("tryAcquire() undoes nothing on a node that rejects the claim as not sent, as its client is not connected", async () => {
    const { redlock, clock, nodes, node, otherClient } = world(3);
    await clock.until(otherClient().acquire("taken"));
    node("b").fault = ({ method }) =>
      method === "acquire" ? { reject: new NotSentError("no connection") } : undefined;
    node("c").fault = ({ method }) => (method === "acquire" ? { reject: new Error("any other") } : undefined);
    await expect(clock.until(redlock.tryAcquire("taken"))).rejects.toThrow("no connection");
    expect(nodes.map((each) => each.callsOf("release").length)).toEqual([1, 0, 1]);
  });

  it("release() reaches a node that rejects the claim as not sent, but may have claimed the resource for an extension", async () => {
    const { redlock, clock, node, heldOn } = world(3);
    let reject: (reason: Error) => void = () => {};
    const acquire = new Promise<never>((_, fail) => {
      reject = fail;
    });
    node("c").acquire = () => acquire;
    const lock = await clock.until(redlock.acquire("r"));
    await clock.until(lock.extend());
    expect(await heldOn("r")).toContain("c");
    reject(new NotSentError("timed out before it was sent"));
    await clock.advance(10);
    await clock.until(lock.release());
    await clock.advance(100);
    expect(await heldOn("r")).toEqual([]);
  });

  it("release() sends nothing to a node that was sent neither the claim nor an extension that makes it again", async () => {
    const { redlock, clock, node, inner } = world(3);
    for (const [index, each] of inner.entries()) {
      await each.acquire({ ...claimOf("x", "r"), fenceHint: clock.wallMs() * 1_000 + 5_000_000 + index });
      await each.release(claimOf("x", "r")); // so that the tokens differ, and a second round proposes one
    }
    node("c").fault = ({ method }) =>
      method === "release" ? undefined : { reject: new NotSentError("no connection") };
    const lock = await clock.until(redlock.acquire("r"));
    await clock.until(lock.release());
    expect(["acquire", "extend", "release"].map((method) => node("c").callsOf(method as never).length)).toEqual([
      1, 1, 0,
    ]);
  });

  it("tryAcquire() is refused when maxWaiters calls are in progress, including those without a permit", async () => {
    const { redlock, clock } = world(3, { maxWaiters: 200 });
    const calls = Array.from({ length: 1000 }, (_, index) => redlock.tryAcquire(`r${index}`));
    const outcomes = await clock.until(Promise.allSettled(calls));
    const refused = outcomes.filter((outcome) => outcome.status === "rejected");
    expect(refused).toHaveLength(800);
    for (const { reason } of refused) expect(reason).toMatchObject({ code: "QUEUE_FULL" });
    for (const outcome of outcomes) if (outcome.status === "fulfilled") await outcome.value?.release();
    expect(await clock.until(redlock.tryAcquire("r0"))).not.toBeNull();
  });
});
