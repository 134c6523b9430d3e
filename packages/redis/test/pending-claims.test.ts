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
  vi.restoreAllMocks(); // a spy on a fake timer would outlive it
  vi.useRealTimers();
});

/** Creates an operation. Its resources do not matter here. */
function recordOf(name: OperationRecord["name"]): OperationRecord {
  return {
    ...{ name, resources: ["r"], key: "lock:r", commonKey: "lock:r", fields: [], rest: [] },
    ...{ read: (answer: unknown) => answer, template: {} as OperationRecord["template"] },
  };
}

/** Creates the claims of a node, whose connection can be lost. */
function pendingClaims({ settlesInTime = false } = {}) {
  const connection = { isReady: () => connection.isThere, settlesInTime, isThere: true };
  const pending = new PendingClaims(connection);
  /** Adds a claim, with a `call` if it was sent. */
  const claim = (owner: string, { name = "acquire", timeoutMs = longMs, isSent = true } = {}) => {
    const nowMs = performance.now();
    const operation = new Operation(recordOf(name as "acquire"), owner, timeoutMs, nowMs);
    ignore(operation.answer);
    const strikeOut = vi.fn();
    if (isSent) operation.call = { strikeOut };
    pending.add(operation, nowMs);
    return { operation, strikeOut };
  };
  return { connection, pending, claim };
}

/** Returns whether each claim is abandoned. */
function givenUp(claims: readonly { operation: Operation }[]): boolean[] {
  return claims.map(({ operation }) => operation.isGivenUp);
}

/** Returns the error of an operation, or undefined if it is pending. */
async function rejectionOf({ operation }: { operation: Operation }): Promise<string | undefined> {
  return Promise.race([
    operation.answer.then(
      () => undefined,
      (error: Error) => error.message,
    ),
    // Two turns of the microtask queue: the first one is for the reply.
    Promise.resolve().then(() => undefined),
  ]);
}

describe("giveUp()", () => {
  test("abandons exactly the claims of the owner, wherever they are in the list", () => {
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

  test("leaves owners with the same last characters alone", () => {
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

  test("finds the remaining claims of an owner after one has been answered", () => {
    for (const answered of [0, 1, 2]) {
      const { pending, claim } = pendingClaims();
      const claims = ["acquire", "extend", "extend"].map((name) => claim("alice", { name }));
      pending.remove((claims[answered] as { operation: Operation }).operation);
      pending.giveUp("alice");
      expect(givenUp(claims)).toEqual([0, 1, 2].map((index) => index !== answered));
    }
  });

  test("strikes a claim out once, however often it is called", () => {
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
      const added = claim("d"); // the list continues after the remaining claims
      pending.giveUp("d");
      expect(added.operation.isGivenUp).toBe(true);
      pending.remove(added.operation);
    }
    for (const owner of ["a", "b", "c"]) pending.giveUp(owner);
    expect(givenUp(claims)).toEqual([false, false, false]);
  });

  test("keeps the neighbours of the removed claim", () => {
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
  test("is known after refuse(), and after its acquire was abandoned before it was sent", () => {
    const { pending, claim } = pendingClaims();
    pending.refuse("refused");
    expect(pending.giveUp("refused")).toBe(true);
    expect(pending.giveUp("another")).toBe(false);
    claim("unsent", { isSent: false });
    expect(pending.giveUp("unsent")).toBe(true);
    expect(pending.giveUp("unsent")).toBe(true);
  });

  test("excludes owners whose extend was not sent, as the server may hold their claims", () => {
    const { pending, claim } = pendingClaims();
    claim("alice", { name: "extend", isSent: false });
    expect(pending.giveUp("alice")).toBe(false);
  });

  test("is like any other after its next claim", () => {
    const { pending, claim } = pendingClaims();
    for (const owner of ["refused", "refused again"]) pending.refuse(owner);
    const { operation } = claim("refused");
    pending.remove(operation);
    expect(pending.giveUp("refused")).toBe(false);
    expect(pending.giveUp("refused again")).toBe(true);
  });

  test("is remembered among at least the latest 256 and at most the latest 512", () => {
    const { pending, claim } = pendingClaims();
    const owners = Array.from({ length: 2_000 }, (_, index) => `owner ${index}`);
    for (const [index, owner] of owners.entries()) {
      pending.refuse(owner);
      expect(pending.giveUp(owners[Math.max(0, index - 255)] as string)).toBe(true);
      if (index >= 512) expect(pending.giveUp(owners[index - 512] as string)).toBe(false);
    }
    // This includes an owner of the previous generation.
    const remembered = owners.filter((owner) => pending.giveUp(owner));
    const oldest = remembered[0] as string;
    pending.remove(claim(oldest).operation);
    expect(pending.giveUp(oldest)).toBe(false);
  });
});

describe("the timer", () => {
  const advance = (ms: number) => vi.advanceTimersByTimeAsync(ms);

  test("abandons each claim when its time is up, not earlier", async () => {
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

  test("starts when a claim is sent, which may be later than its addition", async () => {
    const { claim } = pendingClaims();
    const { operation } = claim("alice", { timeoutMs: 100 });
    operation.endMs += 50;
    await advance(140);
    expect(operation.isGivenUp).toBe(false);
    await advance(20);
    expect(operation.isGivenUp).toBe(true);
  });

  test("runs after input that has arrived: a claim answered in the same turn is not abandoned", async () => {
    const { pending, claim } = pendingClaims();
    const { operation } = claim("alice", { timeoutMs: 100 });
    setTimeout(() => pending.remove(operation), 100); // like a reply read in the same turn
    await advance(110);
    expect(operation.isGivenUp).toBe(false);
  });

  test("runs at most every 5 ms, and not while there are no claims", async () => {
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

  test("rejects an abandoned claim within about a second of the loss of its connection", async () => {
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

  test("rejects a claim immediately if it is abandoned without a connection", async () => {
    const { connection, pending, claim } = pendingClaims();
    const [alice, bob] = [claim("alice"), claim("bob")];
    connection.isThere = false;
    pending.giveUp("alice");
    expect(await rejectionOf(alice)).toBe("the connection was lost before the reply arrived");
    expect(await rejectionOf(bob)).toBeUndefined();
  });

  test("leaves rejecting to a library that settles each claim in time", async () => {
    const { connection, pending, claim } = pendingClaims({ settlesInTime: true });
    const alice = claim("alice", { timeoutMs: 100 });
    connection.isThere = false;
    await advance(2_000);
    pending.giveUp("alice");
    expect(alice.operation.isGivenUp).toBe(true);
    expect(await rejectionOf(alice)).toBeUndefined();
  });

  test("supports timeouts beyond the limit of timers in Node.js", async () => {
    const { claim } = pendingClaims();
    const [long, short] = [claim("alice", { timeoutMs: 2 ** 40 }), claim("bob", { timeoutMs: 100 })];
    await advance(110);
    expect(givenUp([long, short])).toEqual([false, true]);
  });
});
