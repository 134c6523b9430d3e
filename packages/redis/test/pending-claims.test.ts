import { acquireRequest, extendRequest, longMs, releaseRequest } from "@holdfast/redis-testkit/requests";
import { ignore } from "@holdfast/redis-testkit/timing";
import { fuzzSeed, timersOf } from "@holdfast/testkit";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type RedisConnection, redisNode } from "../src/index.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate", "performance"] });
});
afterEach(() => {
  vi.restoreAllMocks(); // a spy on a fake timer would outlive it
  vi.useRealTimers();
});

const advance = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const sending = () => new Promise<void>((resolve) => process.nextTick(resolve));
const lost = "the connection was lost before the reply arrived";

interface Claim {
  /** The mark of the claim in its call, which a client reads when it writes to the socket: "x" if it is given up. */
  mark(): string;
  /** Lets the server grant it, or answer otherwise. */
  answer(answer?: number): Promise<void>;
  /** Lets the client fail it. */
  fail(): Promise<void>;
  /** The error of the claim; undefined if it is granted or pending. */
  error(): string | undefined;
}

/** Returns the marks of the operations of a call: "x" for one that is given up, otherwise ".". */
const shown = (marks: Buffer): string => String(marks).replaceAll(/[^x]/g, ".");

/** Creates a node whose server does not answer by itself, and whose connection can be lost. */
function pending({ settlesInTime = false } = {}) {
  const connection = { isThere: true };
  const sent: { readonly marks: Buffer; readonly answer: (answer: number) => void; fail(error: Error): void }[] = [];
  const runScript: RedisConnection["runScript"] = (_command, _script, call) =>
    new Promise((resolve, reject) => {
      const [callId, marks] = call.keysAndArguments().slice(call.keyCount);
      sent.push({ marks: marks as Buffer, answer: (answer) => resolve([Number(callId), answer]), fail: reject });
    });
  const node = redisNode(
    { name: "n", isCluster: false, settlesInTime, isReady: () => connection.isThere, runScript },
    { verifyServer: false },
  );
  /** Makes a claim, which is sent. */
  const claim = async (owner: string, timeoutMs = longMs, isExtension = false): Promise<Claim> => {
    let error: string | undefined;
    const reply = isExtension
      ? node.extend(extendRequest(owner, { timeoutMs }))
      : node.acquire(acquireRequest(owner, { timeoutMs }));
    reply.catch(({ message }: Error) => {
      error = message;
    });
    await sending();
    const { marks, answer, fail } = sent.at(-1) as (typeof sent)[number];
    return {
      mark: () => shown(marks),
      answer: async (value = 0) => {
        answer(value);
        await advance(0);
      },
      fail: async () => {
        fail(new Error("Command timed out"));
        await advance(0);
      },
      error: () => error,
    };
  };
  /** Gives up all claims of an owner. Returns whether that was sent to the server, which may have some. */
  const giveUp = async (owner: string): Promise<boolean> => {
    const before = sent.length;
    ignore(node.release({ ...releaseRequest(owner), undo: true }));
    await sending();
    return sent.length > before;
  };
  return { connection, node, sent, claim, giveUp };
}

const marksOf = (claims: readonly Claim[]) => claims.map(({ mark }) => mark()).join("");

describe("release()", () => {
  test("is sent before no acquire() of its owner, however soon after the first connection it is called", async () => {
    for (let steps = 0; steps < 12; steps++) {
      const connection = { isThere: false };
      const words: string[] = [];
      const runScript: RedisConnection["runScript"] = (_command, _script, call) => {
        words.push(...call.keysAndArguments().map(String));
        return new Promise(() => {});
      };
      const isReady = () => connection.isThere;
      const node = redisNode(
        { name: "n", isCluster: false, isReady, firstConnection: async () => {}, runScript },
        { verifyServer: false },
      );
      ignore(node.acquire(acquireRequest("alice")));
      connection.isThere = true;
      for (let step = 0; step < steps; step++) await null;
      ignore(node.release(releaseRequest("alice")));
      await sending();
      const names = words.filter((word) => word === "acquire" || word === "release");
      expect(["", "release", "acquire,release"]).toContain(names.join());
    }
  });

  test("gives up exactly the unanswered claims of its owner, whatever has ended before", async () => {
    const owners = ["alice:abc", "bob:abc", "bc", "c", ...["0", "1"].map((digit) => digit.repeat(32))];
    const anyStep = fc.record({
      kind: fc.constantFrom("claim", "claim", "extend", "extend", "grant", "nonsense", "fail", "give up"),
      pick: fc.nat(29),
    });
    const runs = fc.asyncProperty(fc.array(anyStep, { minLength: 20, maxLength: 40 }), async (steps) => {
      const { claim, giveUp } = pending();
      const claims: { owner: string; claim: Claim; isPending: boolean; isGivenUp: boolean }[] = [];
      for (const { kind, pick } of steps) {
        const owner = owners[pick % owners.length] as string;
        const waiting = claims.filter(({ isPending }) => isPending);
        const one = waiting[pick % waiting.length];
        if (kind === "claim" || kind === "extend") {
          const made = await claim(owner, longMs, kind === "extend");
          claims.push({ owner, claim: made, isPending: true, isGivenUp: false });
        } else if (kind === "give up") {
          expect(await giveUp(owner)).toBe(true);
          for (const each of waiting) each.isGivenUp ||= each.owner === owner;
        } else if (one !== undefined) {
          if (kind === "fail") await one.claim.fail();
          else await one.claim.answer(kind === "grant" ? 5 : Number.NaN);
          Object.assign(one, { isPending: false, isGivenUp: one.isGivenUp || kind === "fail" });
        }
        const marks = claims.map(({ isGivenUp }) => (isGivenUp ? "x" : ".")).join("");
        expect(marksOf(claims.map((each) => each.claim))).toBe(marks);
      }
    });
    await fc.assert(runs, { seed: fuzzSeed });
  });
});

describe("a claim that is not sent", () => {
  test("is another one than a claim that was sent, as the client may have sent that twice", async () => {
    const { claim, giveUp } = pending();
    const sent = await claim("alice");
    await giveUp("alice");
    await sent.answer(-1); // left to the lock script, because the owner already has the lock
    expect(sent.error()).toBe("timed out before it was sent again");
  });

  test("is rejected with a NotSentError, so that core does not release it", async () => {
    const { connection, node, giveUp } = pending();
    const late = node.acquire(acquireRequest("late"));
    const isRejected = expect(late).rejects.toMatchObject({
      code: "NOT_SENT",
      message: "timed out before it was sent",
    });
    await giveUp("late");
    await isRejected;
    connection.isThere = false;
    for (const claim of [node.acquire(acquireRequest("alice")), node.extend(extendRequest("alice"))]) {
      await expect(claim).rejects.toMatchObject({
        code: "NOT_SENT",
        message: expect.stringMatching("the client is not connected"),
      });
    }
  });
});

describe("a claim", () => {
  test("is given up when its time is up, not earlier", async () => {
    const { claim } = pending();
    const claims: Claim[] = [];
    for (const timeoutMs of [300, 100, 200, 100]) claims.push(await claim("alice", timeoutMs));
    await advance(99);
    expect(marksOf(claims)).toBe("....");
    await advance(10);
    expect(marksOf(claims)).toBe(".x.x");
    await advance(100);
    expect(marksOf(claims)).toBe(".xxx");
    await advance(100);
    expect(marksOf(claims)).toBe("xxxx");
  });

  test("is given up when its time is up, also beside other operations in its call", async () => {
    const { node, sent } = pending();
    ignore(node.release(releaseRequest("bob")));
    ignore(node.acquire(acquireRequest("alice", { timeoutMs: 100 })));
    ignore(node.release(releaseRequest("carol")));
    await sending();
    await advance(110);
    expect(sent.map(({ marks }) => shown(marks))).toEqual([".x."]);
  });

  test("is given up when its time is up, although it was sent again meanwhile", async () => {
    const { claim, sent } = pending();
    const alice = await claim("alice", 100);
    await advance(60);
    await alice.answer(-1); // left to the lock script
    await advance(50);
    expect(sent.map(({ marks }) => shown(marks))).toEqual([".", "x"]);
  });

  test("that its client has failed is given up, as the client may send it again, and needs no timer", async () => {
    const timers = timersOf("src/pending-claims.ts");
    const { claim } = pending();
    const alice = await claim("alice", 100);
    await alice.fail();
    expect([alice.mark(), alice.error()]).toEqual(["x", "Command timed out"]);
    await advance(5_000);
    expect(timers.pending.size).toBe(0);
  });

  test("is not given up if it is answered in the same turn: input that has arrived is read first", async () => {
    const { claim } = pending();
    const alice = await claim("alice", 100);
    setTimeout(() => void alice.answer(), 100); // like a reply read in the same turn
    await advance(110);
    expect(alice.mark()).toBe(".");
  });

  test("is checked every 5 ms at most, and no timer runs without claims", async () => {
    const { claim } = pending();
    const timers = timersOf("src/pending-claims.ts");
    const claims: Claim[] = [];
    for (let index = 0; index < 100; index++) claims.push(await claim("alice", 100 + index / 10));
    await advance(120);
    expect(marksOf(claims)).not.toContain(".");
    expect(timers.started).toBeGreaterThan(0);
    expect(timers.started).toBeLessThanOrEqual(5);
    for (const each of claims) await each.answer();
    await advance(5_000);
    expect(timers.pending.size).toBe(0);
  });

  test("that was given up rejects within about a second of the loss of its connection", async () => {
    const { connection, claim, giveUp } = pending();
    const claims = [await claim("alice", 100), await claim("bob")];
    await giveUp("bob");
    await advance(5_000);
    expect(claims.map(({ error }) => error())).toEqual([undefined, undefined]);
    connection.isThere = false;
    await advance(1_100);
    expect(claims.map(({ error }) => error())).toEqual([lost, lost]);
  });

  test("rejects immediately if it is given up without a connection", async () => {
    const { connection, claim, giveUp } = pending();
    const claims = [await claim("alice"), await claim("bob")];
    connection.isThere = false;
    await giveUp("alice");
    await advance(0);
    expect(claims.map(({ error }) => error())).toEqual([lost, undefined]);
  });

  test("is left to a library that settles each claim in time", async () => {
    const { connection, claim, giveUp } = pending({ settlesInTime: true });
    const alice = await claim("alice", 100);
    connection.isThere = false;
    await advance(2_000);
    await giveUp("alice");
    expect([alice.mark(), alice.error()]).toEqual(["x", undefined]);
  });

  test("may have a timeout beyond the limit of timers in Node.js", async () => {
    const { claim } = pending();
    const claims = [await claim("alice", 2 ** 40), await claim("bob", 100)];
    await advance(110);
    expect(marksOf(claims)).toBe(".x");
  });
});
