import { longMs } from "@holdfast/redis-testkit/requests";
import { ignore } from "@holdfast/redis-testkit/timing";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { OperationRecord } from "../src/operation.ts";
import { Operation } from "../src/operation.ts";
import { PendingClaims } from "../src/pending-claims.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Resources are of no account here. */
function recordOf(name: OperationRecord["name"]): OperationRecord {
  return { name, resources: ["r"], keys: ["lock:r"], words: [], read: (answer) => answer };
}

/** The claims of a node, whose connection is ready until it is said to be lost, and how often it was told of unsent ones. */
function pendingClaims({ settlesInTime = false } = {}) {
  const connection = { isReady: () => connection.isThere, settlesInTime, isThere: true };
  const told = { unsent: 0 };
  const pending = new PendingClaims(connection, () => {
    told.unsent += 1;
  });
  /** Adds a claim; with a `call` if it was sent. */
  const claim = (owner: string, { name = "acquire", timeoutMs = longMs, isSent = true } = {}) => {
    const nowMs = performance.now();
    const operation = new Operation(recordOf(name as "acquire"), owner, timeoutMs, nowMs);
    ignore(operation.answer);
    const strikeOut = vi.fn();
    if (isSent) operation.call = { strikeOut };
    pending.add(operation, nowMs);
    return { operation, strikeOut };
  };
  return { connection, told, pending, claim };
}

/** Whether each of the claims was given up. */
function givenUp(claims: readonly { operation: Operation }[]): boolean[] {
  return claims.map(({ operation }) => operation.isGivenUp);
}

/** What an operation rejected with; undefined if it has not settled. */
async function rejectionOf({ operation }: { operation: Operation }): Promise<string | undefined> {
  return Promise.race([
    operation.answer.then(
      () => undefined,
      (error: Error) => error.message,
    ),
    // Two turns of the queue of microtasks: the first is for the answer.
    Promise.resolve().then(() => undefined),
  ]);
}

describe("giveUp()", () => {
  test("gives up all claims of the owner, and no others, wherever they are in the list", () => {
    for (const owner of ["first", "middle", "last"]) {
      const { pending, claim } = pendingClaims();
      const claims = ["first", "middle", "middle", "last"].map((name) => claim(name));
      expect(pending.giveUp(owner)).toBe(false);
      expect(givenUp(claims)).toEqual(claims.map(({ operation }) => operation.owner === owner));
      for (const { operation, strikeOut } of claims) {
        expect(strikeOut.mock.calls).toEqual(operation.owner === owner ? [[operation]] : []);
      }
    }
  });

  test("leaves owners alone that end in the same characters", () => {
    const { pending, claim } = pendingClaims();
    const claims = ["alice:abc", "bob:abc", "bc", "c", ""].map((owner) => claim(owner));
    pending.giveUp("abc");
    expect(givenUp(claims)).toEqual([false, false, false, false, false]);
    pending.giveUp("bob:abc");
    expect(givenUp(claims)).toEqual([false, true, false, false, false]);
    for (const owner of ["bc", "c", ""]) pending.giveUp(owner);
    expect(givenUp(claims)).toEqual([false, true, true, true, true]);
    pending.remove((claims[1] as { operation: Operation }).operation);
    pending.giveUp("alice:abc");
    expect(givenUp(claims)).toEqual([true, true, true, true, true]);
  });

  test("finds what is left when one of several claims of the owner was answered", () => {
    for (const answered of [0, 1, 2]) {
      const { pending, claim } = pendingClaims();
      const claims = ["acquire", "extend", "extend"].map((name) => claim("alice", { name }));
      pending.remove((claims[answered] as { operation: Operation }).operation);
      pending.giveUp("alice");
      expect(givenUp(claims)).toEqual([0, 1, 2].map((index) => index !== answered));
    }
  });

  test("strikes a claim out once, however often it is asked", () => {
    const { pending, claim } = pendingClaims();
    const { strikeOut } = claim("alice");
    for (let round = 0; round < 3; round++) expect(pending.giveUp("alice")).toBe(false);
    expect(strikeOut).toHaveBeenCalledTimes(1);
  });
});

describe("remove()", () => {
  test.each([
    [0, 1, 2],
    [2, 1, 0],
    [1, 0, 2],
    [1, 2, 0],
    [0, 2, 1],
  ])("takes claims out of the list in any order: %i, %i, %i", (...order) => {
    const { pending, claim } = pendingClaims();
    const claims = ["a", "b", "c"].map((owner) => claim(owner));
    const removed = new Set<number>();
    for (const index of order) {
      const { operation } = claims[index] as { operation: Operation };
      pending.remove(operation);
      removed.add(index);
      expect([operation.earlier, operation.later]).toEqual([undefined, undefined]);
      const added = claim("d"); // the list goes on behind what is left
      pending.giveUp("d");
      expect(added.operation.isGivenUp).toBe(true);
      pending.remove(added.operation);
    }
    for (const owner of ["a", "b", "c"]) pending.giveUp(owner);
    expect(givenUp(claims)).toEqual([false, false, false]);
  });

  test("of one claim leaves those around it to be given up", () => {
    for (const index of [0, 1, 2]) {
      const { pending, claim } = pendingClaims();
      const claims = ["a", "b", "c"].map((owner) => claim(owner));
      pending.remove((claims[index] as { operation: Operation }).operation);
      for (const owner of ["a", "b", "c"]) pending.giveUp(owner);
      expect(givenUp(claims)).toEqual([0, 1, 2].map((each) => each !== index));
    }
  });
});

describe("an owner whose acquire was never sent", () => {
  test("is known after refuse(), and after its acquire was given up before it was sent", () => {
    const { pending, claim, told } = pendingClaims();
    pending.refuse("refused");
    expect(pending.giveUp("refused")).toBe(true);
    expect(pending.giveUp("another")).toBe(false);
    claim("unsent", { isSent: false });
    expect(told.unsent).toBe(0);
    expect(pending.giveUp("unsent")).toBe(true);
    expect(pending.giveUp("unsent")).toBe(true);
    expect(told.unsent).toBe(1);
  });

  test("is no owner whose extend was not sent: the server may hold its claim", () => {
    const { pending, claim, told } = pendingClaims();
    claim("alice", { name: "extend", isSent: false });
    expect(pending.giveUp("alice")).toBe(false);
    expect(told.unsent).toBe(1);
  });

  test("is one like any other once a claim of it is made", () => {
    const { pending, claim } = pendingClaims();
    for (const owner of ["refused", "refused again"]) pending.refuse(owner);
    const { operation } = claim("refused");
    pending.remove(operation);
    expect(pending.giveUp("refused")).toBe(false);
    expect(pending.giveUp("refused again")).toBe(true);
  });

  test("is remembered among the latest 256 at the least, and 512 at the most", () => {
    const { pending, claim } = pendingClaims();
    const owners = Array.from({ length: 2_000 }, (_, index) => `owner ${index}`);
    for (const [index, owner] of owners.entries()) {
      pending.refuse(owner);
      expect(pending.giveUp(owners[Math.max(0, index - 255)] as string)).toBe(true);
      if (index >= 512) expect(pending.giveUp(owners[index - 512] as string)).toBe(false);
    }
    // Also where the owner is of the generation before.
    const remembered = owners.filter((owner) => pending.giveUp(owner));
    const oldest = remembered[0] as string;
    pending.remove(claim(oldest).operation);
    expect(pending.giveUp(oldest)).toBe(false);
  });
});

describe("the timer", () => {
  const advance = (ms: number) => vi.advanceTimersByTimeAsync(ms);

  test("gives up each claim when its time is up, not before", async () => {
    const { claim } = pendingClaims();
    const claims = [300, 100, 200, 100].map((timeoutMs) => claim("alice", { timeoutMs }));
    await advance(99);
    expect(givenUp(claims)).toEqual([false, false, false, false]);
    await advance(10);
    expect(givenUp(claims)).toEqual([false, true, false, true]);
    await advance(100);
    expect(givenUp(claims)).toEqual([false, true, true, true]);
    await advance(100);
    expect(givenUp(claims)).toEqual([true, true, true, true]);
  });

  test("goes by the time at which a claim was sent, which may be later than that at which it was added", async () => {
    const { claim } = pendingClaims();
    const { operation } = claim("alice", { timeoutMs: 100 });
    operation.endMs += 50;
    await advance(140);
    expect(operation.isGivenUp).toBe(false);
    await advance(20);
    expect(operation.isGivenUp).toBe(true);
  });

  test("looks at what has arrived first: a claim that is answered behind it is not given up", async () => {
    const { pending, claim } = pendingClaims();
    const { operation } = claim("alice", { timeoutMs: 100 });
    setTimeout(() => pending.remove(operation), 100); // as a reply that is read in the same turn
    await advance(110);
    expect(operation.isGivenUp).toBe(false);
  });

  test("looks no more often than every 5 ms, and not at all while there is nothing to look for", async () => {
    const { pending, claim } = pendingClaims();
    const setTimer = vi.spyOn(globalThis, "setTimeout");
    const claims = Array.from({ length: 100 }, (_, index) => claim("alice", { timeoutMs: 100 + index / 10 }));
    await advance(120);
    expect(givenUp(claims)).not.toContain(false);
    expect(setTimer.mock.calls.length).toBeLessThanOrEqual(5);
    for (const { operation } of claims) pending.remove(operation);
    await advance(5_000);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("rejects a claim that was given up within about a second after its connection was lost", async () => {
    const { connection, pending, claim } = pendingClaims();
    const [alice, bob] = [claim("alice", { timeoutMs: 100 }), claim("bob")];
    pending.giveUp("bob");
    await advance(5_000);
    expect([await rejectionOf(alice), await rejectionOf(bob)]).toEqual([undefined, undefined]);
    connection.isThere = false;
    await advance(1_100);
    const lost = "the connection was lost before the reply arrived";
    expect([await rejectionOf(alice), await rejectionOf(bob)]).toEqual([lost, lost]);
  });

  test("rejects a claim at once that is given up while there is no connection", async () => {
    const { connection, pending, claim } = pendingClaims();
    const [alice, bob] = [claim("alice"), claim("bob")];
    connection.isThere = false;
    pending.giveUp("alice");
    expect(await rejectionOf(alice)).toBe("the connection was lost before the reply arrived");
    expect(await rejectionOf(bob)).toBeUndefined();
  });

  test("leaves it to a library that settles each claim in time to do so", async () => {
    const { connection, pending, claim } = pendingClaims({ settlesInTime: true });
    const alice = claim("alice", { timeoutMs: 100 });
    connection.isThere = false;
    await advance(2_000);
    pending.giveUp("alice");
    expect(alice.operation.isGivenUp).toBe(true);
    expect(await rejectionOf(alice)).toBeUndefined();
  });

  test("serves claims that last longer than any timer of Node.js", async () => {
    const { claim } = pendingClaims();
    const [long, short] = [claim("alice", { timeoutMs: 2 ** 40 }), claim("bob", { timeoutMs: 100 })];
    await advance(110);
    expect(givenUp([long, short])).toEqual([false, true]);
  });
});
