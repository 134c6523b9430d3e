import {
  type Lock,
  LockHeldError,
  QuorumUnreachableError,
  Redlock,
  type RedlockOptions,
  TicketSpentError,
} from "@holdfast/core";
import { FaultyNode } from "@holdfast/testkit";
import { describe, expect, it } from "vitest";
import { held, type World, world } from "../world.ts";

const withinMs = 5_000;

/** Returns a world of three nodes, or others, with a lock that has ended, and its ticket. */
async function transferred({
  nodeCount = 3,
  resources = "r" as string | readonly string[],
  options = {} as RedlockOptions,
  prepare = (_: World): void => {},
} = {}): Promise<{ it: World; lock: Lock; ticket: string }> {
  const it = world(nodeCount, options);
  prepare(it);
  const lock = await it.clock.until(it.redlock.acquire(resources, { label: "web" }));
  return { it, lock, ticket: await it.clock.until(lock.transfer({ withinMs })) };
}

/** Returns the owners of a resource, node by node. */
function ownersOf({ inner }: World, resource = "r"): Promise<(string | null)[]> {
  return Promise.all(inner.map(async (node) => (await node.inspect(resource)).owner));
}

/** Returns another client of the world's nodes, behind a network of its own. */
function distantClient({ inner, clock }: World, options?: RedlockOptions): [Redlock, readonly FaultyNode[]] {
  const nodes = inner.map((node) => new FaultyNode(node, clock));
  return [new Redlock(nodes, { clock, nodeTimeoutMs: 50, ...options }), nodes];
}

/** Returns the events of the end of locks. */
function endsIn({ events }: World): World["events"] {
  return events.filter(([name]) => name === "released" || name === "lost");
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
    expect(it.events).toMatchObject([
      ["attemptSettled", { owner: lock.owner }], // and none that names the owner of the ticket
      ["acquired", {}],
      ["releasing", { owner: lock.owner }],
      ["released", { owner: lock.owner, handedOver: true, confirmed: true }],
    ]);
  });

  it("the old holder can do nothing after a transfer", async () => {
    const { it, lock } = await transferred();
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
    const { lock, ...it } = await held(3);
    lock.signal.addEventListener("abort", () => void lock.release());
    await it.clock.until(lock.transfer());
    expect(it.nodes.flatMap((node) => node.callsOf("release"))).toEqual([]);
  });

  it("transfer() releases both owners when too few nodes grant it (S4)", async () => {
    const { lock, ...it } = await held(3);
    it.node("b").fault = ({ method }) => (method === "acquire" ? { lose: "reply" } : undefined);
    it.node("c").fault = ({ method }) => (method === "acquire" ? { lose: "request" } : undefined);
    const error = await errorOf(it, lock.transfer({ withinMs }));
    expect(error).toMatchObject({ code: "LOCK_LOST", reason: "unreachable" });
    expect(error.message).toMatch(/^could not transfer r: 1 of 3 nodes granted, 2 needed; b timed out after 50 ms, c/);
    await it.clock.advance(100);
    expect(await it.heldOn("r")).toEqual([]);
    expect(lock.remainingMs()).toBe(0);
    expect(endsIn(it)).toEqual([["lost", expect.objectContaining({ error })]]);
    expect(await errorOf(it, lock.extend())).toBe(error);
    expect(await it.clock.until(it.otherClient().tryAcquire("r"))).not.toBeNull();
  });

  it("transfer() of a lock that the nodes no longer hold rejects as the lock is lost", async () => {
    const { lock, ...it } = await held(3);
    for (const node of it.inner) await node.release({ resources: ["r"], owner: lock.owner, timeoutMs: 50 });
    const thief = await it.clock.until(it.otherClient().acquire("r"));
    const error = await errorOf(it, lock.transfer());
    expect(error).toMatchObject({ code: "LOCK_LOST", reason: "not-held" });
    expect(error.message).toMatch(
      /^could not transfer r: too few nodes hold it; 0 of 3 nodes granted, 2 needed; a denied/,
    );
    expect(await ownersOf(it)).toEqual([thief.owner, thief.owner, thief.owner]);
    expect(endsIn(it)).toEqual([["lost", expect.objectContaining({ error })]]);
  });

  it("transfer() ignores the signal with which the lock was acquired", async () => {
    const it = world(3);
    const controller = new AbortController();
    const lock = await it.clock.until(it.redlock.acquire("r", { signal: controller.signal }));
    controller.abort();
    const ticket = await it.clock.until(lock.transfer({ withinMs }));
    await it.clock.until(it.redlock.adopt(ticket));
  });

  it("transfer() goes on when the Redlock is closed, also afterwards", async () => {
    const it = world(3);
    const locks = await it.clock.until(Promise.all([it.redlock.acquire("r"), it.redlock.acquire("s")]));
    for (const node of it.nodes) node.fault = () => ({ requestMs: 10, replyMs: 10 });
    const first = locks[0].transfer({ withinMs });
    await it.clock.until(it.redlock.close());
    const tickets = await it.clock.until(Promise.all([first, locks[1].transfer({ withinMs })]));
    for (const ticket of tickets) await it.clock.until(it.otherClient().adopt(ticket));
  });

  it("transfer() rejects if the validity of the lock ends before the nodes have replied", async () => {
    for (const travel of [{ requestMs: 9 }, { replyMs: 8 }]) {
      const { lock, ...it } = await held(3, { ttlMs: 1_000 });
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

  it("transfer() refuses bad options, and leaves the lock as it was", async () => {
    const { lock, ...it } = await held(3);
    const cases: [object, RegExp][] = [
      [{ within: 1_000 }, /^within is not an option of a transfer: did you mean withinMs\?$/],
      [{ withinMs: 0.5 }, /^withinMs must be a positive integer, not 0.5$/],
      [{ withinMs: 2 }, /^withinMs must be above the allowance for clock drift, 2.02 ms, not 2$/],
      [{ withinMs: 52 }, /^withinMs must be above nodeTimeoutMs, 50, and the allowance for clock drift, not 52$/],
      [{ withinMs: 2 ** 53 }, /^withinMs must be a positive integer/],
    ];
    for (const [options, message] of cases)
      expect((await errorOf(it, lock.transfer(options))).message).toMatch(message);
    expect(lock.signal.aborted).toBe(false);
    await it.clock.until(lock.extend());
    await it.clock.until(lock.transfer({ withinMs: 53 }));
  });

  it("transfer() refuses shared locks, and leaves them as they were", async () => {
    const it = world(3);
    const reader = await it.clock.until(it.redlock.acquire("r", { mode: "shared" }));
    const error = await errorOf(it, reader.transfer({ withinMs }));
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toBe("a shared lock cannot be transferred: only an exclusive one can");
    await it.clock.until(reader.extend());
    expect(reader.signal.aborted).toBe(false);
  });
});

describe("adopt()", () => {
  it("adopt() makes a lock with a new owner and a larger fence", async () => {
    const { it, lock, ticket } = await transferred({ nodeCount: 5, resources: ["b", "a"] });
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
    const { it, ticket } = await transferred();
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
    const { it, ticket } = await transferred();
    const adopted = await it.clock.until(it.otherClient().adopt(ticket));
    for (const isReleased of [false, true]) {
      if (isReleased) await it.clock.until(adopted.release());
      const error = await errorOf(it, it.redlock.adopt(ticket));
      expect(error).toBeInstanceOf(TicketSpentError);
      expect(error.message).toMatch(
        /^could not adopt r: the ticket has ended; 0 of 3 nodes agreed, 2 needed; a does not hold it/,
      );
    }
    const failed = it.events.filter(([name]) => name === "acquireFailed");
    expect(failed).toMatchObject([
      ["acquireFailed", { resources: ["r"], error: { code: "TICKET_SPENT" } }],
      ["acquireFailed", { resources: ["r"], error: { code: "TICKET_SPENT" } }],
    ]);
  });

  it("adopt() of two clients at once grants one, and tells the other that the ticket is spent", async () => {
    for (const down of [0, 1]) {
      const { it, ticket } = await transferred();
      it.node("a").fault = () => ({ requestMs: 5 });
      if (down > 0) it.node("c").fault = () => ({ reject: new Error("down") });
      const other = it.otherClient();
      const results = await it.clock.until(Promise.allSettled([it.redlock.adopt(ticket), other.adopt(ticket)]));
      expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      expect(results).toContainEqual({ status: "rejected", reason: expect.objectContaining({ code: "TICKET_SPENT" }) });
    }
  });

  it("adopt() cannot adopt a ticket twice, although another adopter had extended it, and this one is slow", async () => {
    for (const pauseMs of [1_090, 2_000]) {
      const it = world(3, { ttlMs: 1_000, nodeTimeoutMs: 480 });
      const lock = await it.clock.until(it.otherClient({ ttlMs: 1_000 }).acquire("r"));
      const ticket = await it.clock.until(lock.transfer({ withinMs: 60 }));
      const [first, nodes] = distantClient(it);
      for (const node of nodes) node.fault = ({ method }) => (method === "extend" ? { lose: "reply" } : undefined);
      expect(await errorOf(it, first.adopt(ticket, { ttlMs: 60_000 }))).toBeInstanceOf(QuorumUnreachableError);
      for (const node of it.nodes) {
        node.fault = ({ method, request }) =>
          request.takeover ? { requestMs: 450 } : method === "release" ? undefined : { replyMs: 475 };
      }
      const slow = errorOf(it, it.redlock.adopt(ticket));
      await it.clock.advance(pauseMs);
      const fast = it.otherClient();
      const [result] = await it.clock.until(
        Promise.allSettled([fast.adopt(ticket).then((adopted) => adopted.release())]),
      );
      const stranger = await it.clock.until(fast.tryAcquire("r"));
      await it.clock.until(stranger?.release() ?? Promise.resolve());
      expect(await slow).toMatchObject({ message: expect.stringContaining("the quorum arrived too late") });
      expect(result?.status).toBe(pauseMs < 1_400 ? "fulfilled" : "rejected");
    }
  });

  it("adopt() sends no takeover once its guard may have ended", async () => {
    const { it, ticket } = await transferred({ options: { ttlMs: 100, nodeTimeoutMs: 60 } });
    for (const node of it.nodes) node.fault = () => ({ replyMs: 50 });
    const error = await errorOf(it, it.redlock.adopt(ticket));
    expect(error).toBeInstanceOf(QuorumUnreachableError);
    expect(error.message).toMatch(/^could not adopt r: the quorum arrived too late, 100 ms into a ttl of 100 ms/);
    const takeovers = it.nodes.flatMap((node) => node.callsOf("acquire").filter(({ request }) => request.takeover));
    expect(takeovers).toHaveLength(3); // of the transfer
    await it.clock.until(it.otherClient().adopt(ticket));
  });

  it("adopt() claims nothing for longer than its ttl, so a restart guard that allows its ttl allows the guard", async () => {
    const { it, ticket } = await transferred();
    for (const node of it.nodes) {
      node.fault = ({ request }) => ((request.ttlMs ?? 0) > 2_000 ? { reject: new Error("too long") } : undefined);
    }
    await it.clock.until(it.redlock.adopt(ticket, { ttlMs: 2_000 }));
  });

  it("adopt() tells observers of failed nodes the resources of the ticket", async () => {
    const { it, ticket } = await transferred({ resources: ["a", "b"] });
    it.node("c").fault = () => ({ reject: new Error("down") });
    const adopted = await it.clock.until(it.redlock.adopt(ticket));
    const failures = it.events.filter(([name]) => name === "nodeFailed");
    expect(failures.length).toBeGreaterThan(0);
    for (const [, { resources }] of failures) expect(resources).toEqual(["a", "b"]);
    await it.clock.until(adopted.release());
  });

  it("adopt() names the guard by half of the secret of the ticket", async () => {
    const { it, ticket } = await transferred();
    const [owner] = await ownersOf(it);
    await it.clock.until(it.redlock.adopt(ticket));
    const secret = owner?.slice("web:".length) as string;
    const guards = it.nodes.flatMap((node) => node.callsOf("acquire").map(({ request }) => request.resources[0]));
    expect(guards).toContain(`r:ticket:${secret.slice(0, 16)}`);
  });

  it("adopt() stops trying for the guard when its signal aborts or the Redlock closes", async () => {
    for (const isClosed of [true, false]) {
      const { it, ticket } = await transferred({ options: { retryDelayMs: 4_000, retryDelayMaxMs: 4_000 } });
      const [other, nodes] = distantClient(it);
      for (const node of nodes) node.fault = ({ method }) => (method === "extend" ? { lose: "request" } : undefined);
      void other.adopt(ticket).catch(() => {});
      await it.clock.advance(1);
      const controller = new AbortController();
      const adoption = it.redlock.adopt(ticket, { signal: controller.signal }).catch((error) => error);
      await it.clock.advance(5); // it waits before its second attempt
      if (isClosed) await it.clock.until(it.redlock.close());
      else controller.abort(new Error("enough"));
      expect(await it.clock.until(adoption, 100)).toMatchObject(isClosed ? { code: "CLOSED" } : { message: "enough" });
      await it.clock.advance(100);
      expect(it.clock.pendingTimers).toBe(0);
      expect(it.nodes.map((node) => node.callsOf("acquire").length)).toEqual([3, 3, 3]); // one was for the guard
    }
  });

  it("adopt() can be repeated if too few nodes replied before the takeover", async () => {
    for (const method of ["acquire", "extend"]) {
      const { it, ticket } = await transferred();
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
    for (const isAborted of [false, true]) {
      const { it, ticket } = await transferred();
      const controller = new AbortController();
      for (const name of ["b", "c"])
        it.node(name).fault = ({ request }) => {
          if (request.takeover && isAborted) controller.abort(new Error("enough"));
          return request.takeover ? { lose: "request" } : {};
        };
      const error = await errorOf(it, it.redlock.adopt(ticket, { signal: controller.signal }));
      expect(error).toMatchObject(isAborted ? { message: "enough" } : { code: "QUORUM_UNREACHABLE" });
      await it.clock.advance(100);
      expect(await it.heldOn("r")).toEqual([]);
      expect(await errorOf(it, it.otherClient().adopt(ticket))).toBeInstanceOf(LockHeldError);
      await it.clock.advance(10_000);
      expect(await errorOf(it, it.otherClient().adopt(ticket))).toBeInstanceOf(TicketSpentError);
    }
  });

  it("adopt() that failed keeps others from the ticket, whose claim its late takeover may end", async () => {
    const { it, ticket } = await transferred();
    for (const node of it.nodes) {
      node.fault = ({ method, request: { takeover, resources } }) => {
        if (takeover !== undefined) return { requestMs: 1_000 };
        return method === "release" && resources.includes("r") ? { lose: "request" } : undefined;
      };
    }
    expect(await errorOf(it, it.redlock.adopt(ticket))).toBeInstanceOf(QuorumUnreachableError);
    expect(await it.heldOn("r")).toEqual(["a", "b", "c"]);
    expect(await errorOf(it, it.otherClient().adopt(ticket))).toBeInstanceOf(LockHeldError);
  });

  it("adopt() makes an exclusive lock, whatever the mode of the Redlock", async () => {
    const { it, ticket } = await transferred();
    await it.clock.until(it.otherClient({ mode: "shared" }).adopt(ticket));
    expect(await it.clock.until(it.redlock.tryAcquire("r", { mode: "shared" }))).toBeNull();
  });

  it("adopt() refuses what is not a ticket, without showing it", async () => {
    const { it, ticket } = await transferred({ resources: ["ü", "\u2028", "x".repeat(300)] });
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
        "ticket must be a text that lock.transfer() returned: this one is incomplete, or another text",
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
