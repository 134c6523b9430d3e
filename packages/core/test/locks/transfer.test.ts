import { ConfigurationError, type Lock, QuorumUnreachableError, TicketSpentError } from "@holdfast/core";
import { describe, expect, it } from "vitest";
import { type World, world } from "../world.ts";

const withinMs = 5_000;

/** Returns a lock of the world's client that has ended, and its ticket. */
async function transferred(it: World, resources: string | readonly string[] = "r"): Promise<[Lock, string]> {
  const lock = await it.clock.until(it.redlock.acquire(resources, { label: "web" }));
  return [lock, await it.clock.until(lock.transfer({ withinMs }))];
}

/** Returns the owners of a resource, node by node. */
function ownersOf({ inner }: World, resource = "r"): Promise<(string | null)[]> {
  return Promise.all(inner.map(async (node) => (await node.inspect(resource)).owner));
}

/** Returns the error of a promise that must reject. */
async function errorOf({ clock }: World, promise: Promise<unknown>): Promise<Error> {
  const [result] = await clock.until(Promise.allSettled([promise]));
  if (result?.status !== "rejected") throw new Error("it did not reject");
  return result.reason;
}

describe("transfer()", () => {
  it("transfer() ends the lock, whose signal aborts at once, and keeps others out", async () => {
    const it = world(5);
    const lock = await it.clock.until(it.redlock.acquire("r", { label: "web", autoExtend: true }));
    const { signal } = lock;
    const transfer = lock.transfer({ withinMs });
    expect(signal.reason).toMatchObject({ code: "LOCK_LOST", reason: "transferred" });
    const ticket = await it.clock.until(transfer);
    expect(ticket).toMatch(/^ticket1\.[\w-]+$/);
    expect(lock.remainingMs()).toBe(0);
    await it.clock.advance(withinMs - 1);
    expect(await it.clock.until(it.otherClient().tryAcquire("r"))).toBeNull();
    const owners = new Set(await ownersOf(it));
    expect(owners.size).toBe(1);
    expect(owners).not.toContain(lock.owner);
    expect([...owners][0]).toMatch(/^web:/);
    expect(it.nodes.flatMap((node) => node.callsOf("extend"))).toEqual([]);
    const told = it.events.filter(([name]) => name !== "attemptSettled").map(([name, event]) => [name, event]);
    expect(told).toMatchObject([
      ["acquired", {}],
      ["releasing", { owner: lock.owner }],
      ["released", { owner: lock.owner, handedOver: true, confirmed: true }],
    ]);
  });

  it("the old holder can do nothing after a transfer", async () => {
    const it = world(3);
    const [lock] = await transferred(it);
    const owners = await ownersOf(it);
    expect(await errorOf(it, lock.extend())).toMatchObject({ code: "LOCK_LOST", reason: "transferred" });
    expect(await errorOf(it, lock.transfer())).toMatchObject({ reason: "transferred" });
    expect(lock.signal.aborted).toBe(true);
    await it.clock.until(lock.release());
    await it.clock.until(lock[Symbol.asyncDispose]());
    expect(it.nodes.flatMap((node) => [...node.callsOf("release"), ...node.callsOf("extend")])).toEqual([]);
    expect(await ownersOf(it)).toEqual(owners);
  });

  it("release() in a listener of the signal does not free what is being transferred", async () => {
    const it = world(3);
    const lock = await it.clock.until(it.redlock.acquire("r"));
    lock.signal.addEventListener("abort", () => void lock.release());
    await it.clock.until(lock.transfer());
    expect(it.nodes.flatMap((node) => node.callsOf("release"))).toEqual([]);
  });

  it("an extension that arrives after the adoption changes nothing", async () => {
    const it = world(3);
    const lock = await it.clock.until(it.redlock.acquire("r"));
    for (const node of it.nodes) node.fault = ({ method }) => (method === "extend" ? { requestMs: 30 } : undefined);
    const extension = errorOf(it, lock.extend({ ttlMs: 60_000 }));
    await it.clock.advance(1);
    const ticket = await it.clock.until(lock.transfer());
    const adopted = await it.clock.until(it.otherClient().adopt(ticket));
    expect(await extension).toMatchObject({ reason: "transferred" });
    await it.clock.advance(100);
    expect(await ownersOf(it)).toEqual([adopted.owner, adopted.owner, adopted.owner]);
    await it.clock.until(adopted.release());
    expect(await it.heldOn("r")).toEqual([]);
  });

  it("transfer() releases both owners when too few nodes grant it (S4)", async () => {
    const it = world(3);
    const lock = await it.clock.until(it.redlock.acquire("r"));
    it.node("b").fault = ({ method }) => (method === "acquire" ? { lose: "reply" } : undefined);
    it.node("c").fault = ({ method }) => (method === "acquire" ? { lose: "request" } : undefined);
    const error = await errorOf(it, lock.transfer({ withinMs }));
    expect(error).toMatchObject({ code: "LOCK_LOST", reason: "unreachable" });
    expect(error.message).toMatch(/^could not transfer r: 1 of 3 nodes granted, 2 needed; b timed out after 50 ms, c/);
    await it.clock.advance(100);
    expect(await it.heldOn("r")).toEqual([]);
    expect(lock.remainingMs()).toBe(0);
    const released = it.events.filter(([name]) => name === "released");
    expect(released).toMatchObject([["released", { confirmed: false, handedOver: false }]]);
    expect(await it.clock.until(it.otherClient().tryAcquire("r"))).not.toBeNull();
  });

  it("transfer() of a lock that the nodes no longer hold rejects as the lock is lost", async () => {
    const it = world(3);
    const lock = await it.clock.until(it.redlock.acquire("r"));
    for (const node of it.inner) await node.release({ resources: ["r"], owner: lock.owner, timeoutMs: 50 });
    const thief = await it.clock.until(it.otherClient().acquire("r"));
    const error = await errorOf(it, lock.transfer());
    expect(error).toMatchObject({ code: "LOCK_LOST", reason: "not-held" });
    expect(error.message).toMatch(
      /^could not transfer r: too few nodes hold it; 0 of 3 nodes granted, 2 needed; a denied/,
    );
    expect(await ownersOf(it)).toEqual([thief.owner, thief.owner, thief.owner]);
  });

  it("transfer() rejects if the validity of the lock ends before the nodes have replied", async () => {
    for (const travel of [{ requestMs: 9 }, { replyMs: 8 }]) {
      const it = world(3, { ttlMs: 1_000 });
      const lock = await it.clock.until(it.redlock.acquire("r"));
      await it.clock.advance(980); // 12 ms allow for drift
      for (const node of it.nodes) node.fault = ({ method }) => (method === "acquire" ? travel : undefined);
      expect(await errorOf(it, lock.transfer({ withinMs }))).toMatchObject({
        code: "LOCK_LOST",
        reason: "unreachable",
      });
      await it.clock.advance(100);
      expect(await it.heldOn("r")).toEqual([]);
    }
  });

  it("using() whose routine transfers its lock returns the result", async () => {
    const it = world(3);
    const ticket = await it.clock.until(it.redlock.using("r", (lock) => lock.transfer({ withinMs })));
    const adopted = await it.clock.until(it.otherClient().adopt(ticket));
    await it.clock.until(adopted.release());
  });

  it("transfer() refuses bad options, and leaves the lock as it was", async () => {
    const it = world(3);
    const lock = await it.clock.until(it.redlock.acquire("r"));
    const cases: [object, RegExp][] = [
      [{ within: 1_000 }, /^within is not an option of a transfer: did you mean withinMs\?$/],
      [{ withinMs: 0.5 }, /^withinMs must be a positive integer, not 0.5$/],
      [{ withinMs: 50 }, /^withinMs must be above nodeTimeoutMs, 50, not 50$/],
    ];
    for (const [options, message] of cases)
      expect((await errorOf(it, lock.transfer(options))).message).toMatch(message);
    expect(lock.signal.aborted).toBe(false);
    await it.clock.until(lock.extend());
  });
});

describe("adopt()", () => {
  it("adopt() makes a lock with a new owner and a larger fence", async () => {
    const it = world(5);
    const [lock, ticket] = await transferred(it, ["b", "a"]);
    const held = await ownersOf(it, "a");
    const adopted = await it.clock.until(it.otherClient().adopt(ticket, { label: "job", ttlMs: 2_000 }));
    expect(adopted.resources).toEqual(["a", "b"]);
    expect(adopted.owner).toMatch(/^job:/);
    expect([lock.owner, ...held]).not.toContain(adopted.owner);
    expect(adopted.fence).toBeGreaterThan(lock.fence);
    expect(adopted.remainingMs()).toBeGreaterThan(1_900);
    for (const name of ["a", "b"]) expect(new Set(await ownersOf(it, name))).toEqual(new Set([adopted.owner]));
    await it.clock.until(adopted.extend());
    await it.clock.until(adopted.release());
    for (const name of ["a", "b"]) expect(await it.heldOn(name)).toEqual([]);
    expect(it.clock.pendingTimers).toBe(0);
  });

  it("adopt() extends the lock by itself if asked", async () => {
    const it = world(3);
    const [, ticket] = await transferred(it);
    const adopted = await it.clock.until(it.redlock.adopt(ticket, { autoExtend: true }));
    await it.clock.advance(60_000);
    expect(adopted.remainingMs()).toBeGreaterThan(0);
    const told = it.events.filter(([name]) => ["acquired", "attemptSettled"].includes(name));
    expect(told.map(([name, { owner }]) => [name, owner]).slice(-2)).toEqual([
      ["attemptSettled", adopted.owner],
      ["acquired", adopted.owner],
    ]);
    await it.clock.until(adopted.release());
  });

  it("adopt() of a ticket that was adopted rejects, also after that lock has ended", async () => {
    const it = world(3);
    const [, ticket] = await transferred(it);
    const adopted = await it.clock.until(it.otherClient().adopt(ticket));
    for (const isReleased of [false, true]) {
      if (isReleased) await it.clock.until(adopted.release());
      const error = await errorOf(it, it.redlock.adopt(ticket));
      expect(error).toBeInstanceOf(TicketSpentError);
      expect(error.message).toMatch(
        /^could not adopt r: another process has adopted the ticket, or is about to; 0 of 3 nodes agreed, 2 needed; a denied/,
      );
    }
    const failed = it.events.filter(([name]) => name === "acquireFailed");
    expect(failed).toMatchObject([
      ["acquireFailed", { resources: ["r"], error: { code: "TICKET_SPENT" } }],
      ["acquireFailed", { resources: ["r"], error: { code: "TICKET_SPENT" } }],
    ]);
    await it.clock.advance(withinMs + 10_000 + 200);
    expect((await errorOf(it, it.redlock.adopt(ticket))).message).toMatch(
      /the ticket has ended; .* a does not hold it/,
    );
  });

  it("adopt() grants a ticket to one of two clients, although the first has ended when the other takes it over", async () => {
    const it = world(3);
    const [, ticket] = await transferred(it);
    for (const node of it.nodes) node.fault = ({ request }) => (request.takeover ? { requestMs: 40 } : undefined);
    const slow = it.redlock.adopt(ticket);
    await it.clock.advance(1);
    const fast = it.otherClient().adopt(ticket);
    void fast.then(
      (lock) => lock.release(),
      () => {},
    );
    const results = await it.clock.until(Promise.allSettled([slow, fast]));
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  it("adopt() rejects although late requests of the transfer have made the claim again", async () => {
    const it = world(5);
    const slow = { requestMs: 3_000 };
    for (const name of ["d", "e"])
      it.node(name).fault = ({ request }) => (request.takeover ? slow : { lose: "request" });
    const [, ticket] = await transferred(it);
    for (const node of it.nodes) node.fault = () => undefined;
    it.node("c").fault = ({ request }) => (request.takeover ? { lose: "request" } : undefined);
    const adopted = await it.clock.until(it.redlock.adopt(ticket, { ttlMs: 1_000 }));
    it.node("c").fault = () => ({ lose: "request" });
    await it.clock.until(adopted.release());
    await it.clock.advance(3_500);
    expect(await it.heldOn("r")).toEqual(["c", "d", "e"]); // by the ticket: a quorum
    expect(new Set(await ownersOf(it)).size).toBe(2);
    expect(await errorOf(it, it.otherClient().adopt(ticket))).toBeInstanceOf(TicketSpentError);
  });

  it("adopt() of two clients at once grants at most one", async () => {
    for (const down of [0, 1]) {
      const it = world(3);
      const [, ticket] = await transferred(it);
      it.node("a").fault = () => ({ requestMs: 5 });
      if (down > 0) it.node("c").fault = () => ({ reject: new Error("down") });
      const other = it.otherClient();
      const results = await it.clock.until(Promise.allSettled([it.redlock.adopt(ticket), other.adopt(ticket)]));
      expect(results.filter(({ status }) => status === "fulfilled").length).toBeLessThanOrEqual(1);
    }
  });

  it("adopt() of a late ticket rejects, and the resource is free", async () => {
    const it = world(3);
    const [, ticket] = await transferred(it);
    await it.clock.advance(withinMs);
    expect(await it.heldOn("r")).toEqual([]);
    const error = await errorOf(it, it.otherClient().adopt(ticket));
    expect(error).toBeInstanceOf(TicketSpentError);
    expect(error.message).toMatch(
      /^could not adopt r: the ticket has ended; 0 of 3 nodes agreed, 2 needed; a does not/,
    );
    const lock = await it.clock.until(it.otherClient().acquire("r"));
    await errorOf(it, it.otherClient().adopt(ticket));
    expect(await ownersOf(it)).toEqual([lock.owner, lock.owner, lock.owner]);
  });

  it("adopt() rejects if others may have had the lock between the question and the takeover", async () => {
    for (const [travelMs, isInTime] of [
      [40, true],
      [55, false],
    ] as const) {
      const it = world(3, { ttlMs: 100, nodeTimeoutMs: 60 });
      const [, ticket] = await transferred(it);
      await it.clock.advance(withinMs - 10); // the question extends the ticket by the ttl
      for (const node of it.nodes) {
        node.fault = ({ method, request }) =>
          method === "extend" ? { replyMs: travelMs } : request.takeover ? { requestMs: travelMs } : undefined;
      }
      const [result] = await it.clock.until(Promise.allSettled([it.redlock.adopt(ticket)]));
      if (isInTime) expect(result).toMatchObject({ status: "fulfilled", value: { fence: expect.any(Number) } });
      else
        expect(result).toMatchObject({
          reason: { message: expect.stringMatching(/: the quorum arrived too late, 110 ms/) },
        });
    }
  });

  it("adopt() works while a minority of the nodes is down", async () => {
    const it = world(5);
    for (const name of ["a", "b"]) it.node(name).fault = () => ({ lose: "request" });
    const [lock, ticket] = await transferred(it);
    const adopted = await it.clock.until(it.redlock.adopt(ticket));
    expect(adopted.fence).toBeGreaterThan(lock.fence);
    expect(await it.heldOn("r")).toEqual(["c", "d", "e"]);
    await it.clock.until(adopted.release());
    await it.clock.advance(1_000);
    expect(await it.heldOn("r")).toEqual([]);
  });

  it("adopt() can be repeated if too few nodes replied before the takeover", async () => {
    for (const method of ["acquire", "extend"]) {
      const it = world(3);
      const [, ticket] = await transferred(it);
      for (const name of ["b", "c"]) it.node(name).fault = (call) => (call.method === method ? { lose: "reply" } : {});
      const error = await errorOf(it, it.redlock.adopt(ticket));
      expect(error).toBeInstanceOf(QuorumUnreachableError);
      expect(error.message).toMatch(
        /^could not adopt r: 1 of 3 nodes agreed, 2 needed; b timed out after 50 ms, c timed/,
      );
      for (const node of it.nodes) node.fault = () => undefined;
      await it.clock.advance(100);
      const adopted = await it.clock.until(it.otherClient().adopt(ticket));
      await it.clock.until(adopted.release());
    }
  });

  it("adopt() that fails once the takeover was sent frees the resource, and spends the ticket", async () => {
    const it = world(3);
    const [, ticket] = await transferred(it);
    for (const name of ["b", "c"]) it.node(name).fault = ({ request }) => (request.takeover ? { lose: "request" } : {});
    expect(await errorOf(it, it.redlock.adopt(ticket))).toBeInstanceOf(QuorumUnreachableError);
    await it.clock.advance(100);
    expect(await it.heldOn("r")).toEqual([]);
    expect(await errorOf(it, it.otherClient().adopt(ticket))).toBeInstanceOf(TicketSpentError);
  });

  it("adopt() that failed keeps others from the ticket, whose claim its late takeover may end", async () => {
    const it = world(3);
    const [, ticket] = await transferred(it);
    for (const node of it.nodes) {
      node.fault = ({ method, request: { takeover, resources } }) => {
        if (takeover !== undefined) return { requestMs: 1_000 };
        return method === "release" && resources.includes("r") ? { lose: "request" } : undefined;
      };
    }
    expect(await errorOf(it, it.redlock.adopt(ticket))).toBeInstanceOf(QuorumUnreachableError);
    expect(await it.heldOn("r")).toEqual(["a", "b", "c"]);
    expect(await errorOf(it, it.otherClient().adopt(ticket))).toBeInstanceOf(TicketSpentError);
  });

  it("adopt() of a shared lock shares it", async () => {
    const it = world(3);
    const reader = await it.clock.until(it.redlock.acquire("r", { mode: "shared" }));
    const other = await it.clock.until(it.otherClient().acquire("r", { mode: "shared" }));
    const ticket = await it.clock.until(reader.transfer({ withinMs }));
    await it.clock.until(other.release());
    expect(await it.clock.until(it.otherClient().tryAcquire("r"))).toBeNull();
    const adopted = await it.clock.until(it.otherClient().adopt(ticket));
    expect(adopted.fence).toBeGreaterThanOrEqual(reader.fence);
    const third = await it.clock.until(it.otherClient().tryAcquire("r", { mode: "shared" }));
    await it.clock.until(Promise.all([third?.release(), adopted.release()]));
    expect(await it.heldOn("r")).toEqual([]);
  });

  it("adopt() lets the waiters of both processes have the lock afterwards", async () => {
    const it = world(3);
    const [, ticket] = await transferred(it);
    const other = it.otherClient();
    const waiting = [it.redlock, other].map((each) => each.using("r", () => {}));
    const adopted = await it.clock.until(other.adopt(ticket));
    await it.clock.advance(100);
    await it.clock.until(adopted.release());
    await it.clock.until(Promise.all(waiting));
    expect(await it.heldOn("r")).toEqual([]);
  });

  it("adopt() rejects with the reason of its signal, and when the Redlock closes, and leaves nothing behind", async () => {
    const it = world(3);
    const [, ticket] = await transferred(it);
    for (const node of it.nodes) node.fault = () => ({ requestMs: 10, replyMs: 10 });
    const controller = new AbortController();
    const given = errorOf(it, it.redlock.adopt(ticket, { signal: controller.signal }));
    await it.clock.advance(25); // in the question
    controller.abort(new Error("enough"));
    expect((await given).message).toBe("enough");
    await it.clock.advance(100);
    const closing = errorOf(it, it.redlock.adopt(ticket));
    await it.clock.advance(5);
    await it.clock.until(it.redlock.close());
    expect(await closing).toMatchObject({ code: "CLOSED" });
    expect(await errorOf(it, it.redlock.adopt(ticket))).toMatchObject({ code: "CLOSED" });
    await it.clock.advance(10_000); // the question has extended the ticket by the ttl
    expect(await it.heldOn("r")).toEqual([]);
    expect(it.clock.pendingTimers).toBe(0);
  });

  it("adopt() tells a configuration error", async () => {
    const it = world(3);
    const [, ticket] = await transferred(it);
    it.node("a").fault = () => ({ reject: new ConfigurationError("a replica", ["r"]) });
    const error = await errorOf(it, it.redlock.adopt(ticket));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error.message).toMatch(/^could not adopt r: .*a failed: a replica/);
  });

  it("adopt() refuses what is not a ticket, without showing it", async () => {
    const it = world(3);
    const [, ticket] = await transferred(it, ["ü", "\u2028", "x".repeat(300)]);
    const texts = [
      "",
      "r",
      "ticket1.",
      ticket.slice(0, -30),
      `${ticket}x`,
      ticket.replace("1", "2"),
      `ticket1.${btoa("[1]")}`,
    ];
    for (const text of texts) {
      const error = await errorOf(it, it.redlock.adopt(text));
      expect(error).toBeInstanceOf(RangeError);
      expect(error.message).toBe(
        "ticket must be a text that lock.transfer() returned: this one is incomplete, or was changed",
      );
    }
    expect((await errorOf(it, it.redlock.adopt({} as string))).message).toBe("ticket must be a string, not an object");
    for (const name of ["mode", "waitTimeoutMs", "nodeTimeoutMs"]) {
      const options: object = { [name]: 1 };
      expect((await errorOf(it, it.redlock.adopt(ticket, options))).message).toMatch(
        `${name} is not an option of an adoption`,
      );
    }
    const adopted = await it.clock.until(it.redlock.adopt(ticket));
    expect(adopted.resources).toEqual(["x".repeat(300), "ü", "\u2028"]);
  });
});
