import { check, type History, type LockMode, type LockRecord, type WaiterRecord } from "@holdfast/simulation";
import { describe, expect, it } from "vitest";

const uneventful: History = {
  ...{ locks: [], waiters: [], attempts: [], collections: [], traffic: [], brokenInvariants: [], lostUpdates: [] },
  ...{ nonrepeatableReads: [], misbehaviour: [], leaks: [], counterLosses: [], staleClaims: [] },
  ...{ isFaultless: true, recovery: undefined, completion: undefined },
};

/** A lock that by default was requested at 0, granted at 10, and seen valid until it ended at 20. */
function lock(attempt: string, facts: Partial<LockRecord> = {}): LockRecord {
  const times = { startedAtMs: 0, grantedAtMs: 10, endedAtMs: 20, seenValid: { fromMs: 10, untilMs: 20 } };
  const client = `client ${attempt[0]}`;
  return { attempt, client, resources: ["stock"], mode: "exclusive", fence: 1, ...times, ...facts };
}

/** A lock that was requested after the default one ended. */
function later(attempt: string, facts: Partial<LockRecord> = {}): LockRecord {
  const times = { startedAtMs: 30, grantedAtMs: 40, endedAtMs: 50, seenValid: { fromMs: 40, untilMs: 50 } };
  return lock(attempt, { fence: 2, ...times, ...facts });
}

function found(facts: Partial<History>): string[] {
  return check({ ...uneventful, ...facts }).map(({ checker, what, atMs }) => `${atMs} ${checker}: ${what}`);
}

describe("check()", () => {
  it("check() finds nothing in locks that follow one another", () => {
    expect(found({})).toEqual([]);
    expect(found({ locks: [lock("1.1"), later("2.1")] })).toEqual([]);
  });

  it("check() finds two locks on one resource that are believed to be valid at the same time", () => {
    const what = "mutual exclusion: locks 1.1 and 2.1 on stock are both believed to be valid";
    expect(found({ locks: [lock("1.1"), later("2.1", { seenValid: { fromMs: 15, untilMs: 18 } })] })).toEqual([
      `15 ${what}`,
    ]);
    expect(found({ locks: [lock("1.1"), later("2.1", { seenValid: { fromMs: 20, untilMs: 20 } })] })).toEqual([
      `20 ${what}`,
    ]);
    expect(found({ locks: [lock("1.1"), later("2.1", { startedAtMs: 15, seenValid: undefined })] })).toEqual([]);
  });

  it("check() finds a token that was granted twice", () => {
    const same = later("2.1", { fence: 1 });
    expect(found({ locks: [lock("1.1"), same] })).toEqual([
      "40 fence order: locks 1.1 and 2.1 on stock both have the token 1",
    ]);
  });

  it("check() finds a smaller token only if its lock was requested after another was granted", () => {
    const smaller = later("2.1", { fence: 0 });
    expect(found({ locks: [lock("1.1"), smaller] })).toEqual([
      "40 fence order: lock 2.1, requested after lock 1.1 was granted, has the smaller token on stock: 0 after 1",
    ]);
    expect(found({ locks: [lock("1.1"), { ...smaller, startedAtMs: 10 }] })).toEqual([]);
  });

  it("check() accepts a smaller token only of a shared lock that may have joined a claim from before a loss", () => {
    const stale = { resources: ["stock"], requestedAtMs: 5, lostAtMs: 25, grantedAtMs: 28, fence: 0 };
    const join = (facts: Partial<typeof stale>, mode: LockRecord["mode"] = "shared") =>
      found({ locks: [lock("1.1"), later("2.1", { fence: 0, mode })], staleClaims: [{ ...stale, ...facts }] });
    expect(join({})).toEqual([]);
    expect(join({}, "exclusive")).toHaveLength(1);
    expect(join({ resources: ["cash"] })).toHaveLength(1);
    expect(join({ requestedAtMs: 15 })).toHaveLength(1);
    expect(join({ lostAtMs: -1 })).toHaveLength(1);
    expect(join({ grantedAtMs: 45 })).toHaveLength(1);
    expect(join({ fence: 1 })).toHaveLength(1);
  });

  it("check() allows any order of tokens only if a node that lost its counters voted before it was healed, and until then", () => {
    const judge = (startedAtMs: number, votesFromMs: number | undefined): string[] => {
      const times = { startedAtMs, grantedAtMs: startedAtMs + 1, seenValid: undefined };
      const locks = [lock("1.1", { fence: 9, grantedAtMs: 1 }), later("2.1", { fence: 5, ...times })];
      const lostUpdates = [{ atMs: 99, storage: "is guarded" as const, resource: "stock", lost: "1.1", by: "2.1" }];
      const counterLosses = [{ node: "A", lostAtMs: 10, votesFromMs, healedAtMs: 50 }];
      return check({ ...uneventful, locks, lostUpdates, counterLosses }).map(({ checker }) => checker);
    };
    expect(judge(30, 20)).toEqual([]);
    expect(judge(50, 20)).toEqual(["fence order", "fenced storage"]);
    expect(judge(5, 20)).toEqual(["fence order", "fenced storage"]);
    expect(judge(30, undefined)).toEqual(["fence order", "fenced storage"]);
    expect(judge(30, 60)).toEqual(["fence order", "fenced storage"]);
  });

  it("check() finds a nonrepeatable read only in the storage that checks every token", () => {
    const changed = { atMs: 5, resource: "stock", reader: "1.1", writer: "2.1" };
    expect(found({ nonrepeatableReads: [{ ...changed, storage: "is guarded" }] })).toEqual([
      "5 fenced storage: lock 2.1 changed stock between two reads of lock 1.1, in a storage that checks every token",
    ]);
    expect(found({ nonrepeatableReads: [{ ...changed, storage: "checks writes" }] })).toEqual([]);
  });

  it("check() finds a lost update only in the storage that checks every token", () => {
    const lost = { atMs: 5, resource: "stock", lost: "1.1", by: "2.1" };
    expect(found({ lostUpdates: [{ ...lost, storage: "is guarded" }] })).toEqual([
      "5 fenced storage: lock 2.1 overwrote the update of lock 1.1 on stock, in a storage that checks every token",
    ]);
    expect(
      found({
        lostUpdates: [
          { ...lost, storage: "checks writes" },
          { ...lost, storage: "checks nothing" },
        ],
      }),
    ).toEqual([]);
  });

  it("check() finds that no client got a lock in time after all faults were over", () => {
    const recovery = { fromMs: 100, boundMs: 50, lockedAtMs: 150 };
    expect(found({ recovery })).toEqual([]);
    const late = "150 liveness: no client got a lock within 50 ms after the last fault";
    expect(found({ recovery: { ...recovery, lockedAtMs: 151 } })).toEqual([late]);
    expect(found({ recovery: { ...recovery, lockedAtMs: undefined } })).toEqual([late]);
  });

  it("check() reports leaks and misbehaviour, the earliest first", () => {
    const misbehaviour = [{ atMs: 9, what: "client 1 hangs" }];
    const leaks = [{ atMs: 3, what: "node A still keeps a claim" }];
    expect(found({ misbehaviour, leaks })).toEqual([
      "3 clean end: node A still keeps a claim",
      "9 clean end: client 1 hangs",
    ]);
  });
});

/** A call that by default waits from 0 to 20 and gets no lock. */
function waiter(facts: Partial<WaiterRecord> = {}): WaiterRecord {
  return {
    ...{ client: "client 1", resources: ["stock"], mode: "exclusive", attempt: undefined },
    ...{ calledAtMs: 0, endedAtMs: 20 },
    ...{ timeoutMs: 100, isNotified: true, waitedMs: 20, idleMs: 5, freeMs: 5 },
    ...{ attemptMs: 48, backOffMs: 48, pollMs: 2, splitMs: 0, undoMs: 0 },
    ...facts,
  };
}

describe("check() of waiters", () => {
  it("check() finds a call that ends later than its timeout and one more attempt", () => {
    expect(found({ waiters: [waiter({ waitedMs: 150 }), waiter({ waitedMs: 500, endedAtMs: undefined })] })).toEqual(
      [],
    );
    expect(found({ waiters: [waiter({ waitedMs: 151 })] })).toEqual([
      "20 liveness: a call of client 1 for stock ended after 151 ms, although the limit is 150 ms",
    ]);
  });

  it("check() finds a call that went without an attempt for longer than a back-off, as if it relied on notifications", () => {
    expect(found({ waiters: [waiter({ idleMs: 50 })] })).toEqual([]);
    expect(found({ waiters: [waiter({ idleMs: 51 })] })).toEqual([
      "20 liveness: a call of client 1 for stock waited for 51 ms without an attempt, although the limit is 50 ms",
    ]);
  });

  it("check() finds a call that gets its lock before an earlier one of its process for the same resources", () => {
    const early = waiter({ endedAtMs: 40 });
    const late = waiter({ calledAtMs: 5, endedAtMs: 30, attempt: "1.2" });
    expect(found({ waiters: [early, late] })).toEqual([
      "30 queue order: a call of client 1 for stock got lock 1.2 before an earlier one that still waits",
    ]);
    expect(found({ waiters: [waiter({ endedAtMs: undefined }), late] })).toHaveLength(1);
    expect(found({ waiters: [{ ...early, mode: "shared" }, late] })).toHaveLength(1);
    expect(found({ waiters: [early, { ...late, mode: "shared" }] })).toHaveLength(1);
  });

  it("check() lets a reader go without an attempt for two back-offs", () => {
    expect(found({ waiters: [waiter({ mode: "shared", idleMs: 98 })] })).toEqual([]);
    expect(found({ waiters: [waiter({ mode: "shared", idleMs: 99 })] })).toEqual([
      "20 liveness: a call of client 1 to share stock waited for 99 ms without an attempt, although the limit is 98 ms",
    ]);
  });

  it.each([
    ["has ended", { endedAtMs: 30 }, {}],
    ["has timed out", { timeoutMs: 30 }, {}],
    ["belongs to another process", { client: "client 2" }, {}],
    ["wants something else", { resources: ["cash", "stock"] }, {}],
    ["got no lock", {}, { attempt: undefined }],
    ["did not wait", {}, { timeoutMs: 0 }],
    ["shares the lock with it", { mode: "shared" as const }, { mode: "shared" as const }],
  ])("check() lets a call pass another when one %s", (_, early, late) => {
    const waiters = [
      waiter({ endedAtMs: 40, ...early }),
      waiter({ calledAtMs: 5, endedAtMs: 30, attempt: "1.2", ...late }),
    ];
    expect(found({ waiters })).toEqual([]);
  });

  /** Locks that are each handed over to the next, one per millisecond. */
  const series = (handOvers: number, handingOverMs = handOvers): LockRecord[] =>
    Array.from({ length: handOvers + 1 }, (_, index) => {
      const takenOverFrom = index === 0 ? undefined : `1.${index}`;
      const times = { startedAtMs: index + 0.5, grantedAtMs: index + 1, endedAtMs: index + 1.5, seenValid: undefined };
      const sinceMs = (handingOverMs * index) / handOvers;
      return lock(`1.${index + 1}`, { fence: index + 1, takenOverFrom, handingOverMs: sinceMs, ...times });
    });

  it("check() finds a process that hands its lock over too many times while another one waits", () => {
    const rival = waiter({ client: "client 2" });
    expect(found({ locks: series(16), waiters: [rival] })).toEqual([]);
    expect(found({ locks: series(17), waiters: [rival] })).toEqual([
      "18 liveness: lock 1.18 is hand-over 17 in a row, 17 ms after the first lock, while a call of client 2 for stock waits",
    ]);
  });

  it("check() finds hand-overs that go on for more than 50 ms while another process waits", () => {
    const locks = series(1, 51);
    const waiters = [waiter({ client: "client 2" })];
    expect(found({ locks, waiters })).toEqual([
      "2 liveness: lock 1.2 is hand-over 1 in a row, 51 ms after the first lock, while a call of client 2 for stock waits",
    ]);
    expect(found({ locks: series(1, 50), waiters })).toEqual([]);
  });

  it.each([
    ["no call waits", []],
    ["only its own calls wait", [waiter()]],
    ["the waiting calls want other resources", [waiter({ client: "client 2", resources: ["cash"] })]],
    ["the waiting calls came later", [waiter({ client: "client 2", calledAtMs: 2 })]],
    ["the others have got their lock", [waiter({ client: "client 2", endedAtMs: 18 })]],
  ])("check() accepts any number of hand-overs when %s", (_, waiters) => {
    expect(found({ locks: series(30), waiters })).toEqual([]);
  });

  it("check() finds a call that waits for unlocked resources, as behind another call that is blocked", () => {
    expect(found({ waiters: [waiter({ freeMs: 2598 })] })).toEqual([]);
    expect(found({ waiters: [waiter({ freeMs: 2698, splitMs: 100 })] })).toEqual([]);
    expect(found({ waiters: [waiter({ freeMs: 2599 })] })).toEqual([
      "20 progress: a call of client 1 for stock, made at 0 ms, waited for 2599 ms on unlocked resources, although the limit is 2598 ms",
    ]);
    expect(check({ ...uneventful, waiters: [waiter({ freeMs: 599 })] }, { keepMs: 500 })).toHaveLength(1);
  });

  it("check() accepts that a call waits for one call of each other client that collects what it wants", () => {
    const long = waiter({ freeMs: 7598, calledAtMs: 1000, endedAtMs: 9000 });
    const by = (client: string, endedAtMs: number, resource = "stock") => {
      return { attempt: "2.1", client, resources: [resource], endedAtMs, keptMs: 1000, attemptMs: 50 };
    };
    const others = [by("client 2", 3000), by("client 3", 5000), by("client 2", 7000)];
    expect(found({ waiters: [long], collections: others })).toEqual([]);
    expect(found({ waiters: [{ ...long, freeMs: 7599 }], collections: others })).toHaveLength(1);
    for (const own of [
      by("client 1", 5000),
      by("client 3", 1000),
      by("client 3", 10_000),
      by("client 3", 5000, "cash"),
    ]) {
      expect(found({ waiters: [long], collections: [by("client 2", 3000), own] })).toHaveLength(1);
    }
  });

  it("check() finds a collected claim that is kept for too long", () => {
    const claim = { attempt: "1.1", client: "client 1", resources: ["cash"] };
    const collection = { ...claim, endedAtMs: 3000, keptMs: 2550, attemptMs: 50 };
    expect(found({ collections: [collection] })).toEqual([]);
    expect(found({ collections: [{ ...collection, keptMs: 2551 }] })).toEqual([
      "3000 progress: attempt 1.1 kept cash for 2551 ms without a lock, although the limit is 2550 ms",
    ]);
  });

  it("check() finds work that does not end", () => {
    const completion = { fromMs: 100, workMs: 400, calls: 2, endedAtMs: 5500 };
    expect(found({ completion })).toEqual([]);
    const late = "5500 progress: some calls had not ended 5400 ms after the last fault";
    expect(found({ completion: { ...completion, endedAtMs: 5501 } })).toEqual([late]);
    expect(found({ completion: { ...completion, endedAtMs: undefined } })).toEqual([late]);
  });

  /** A call for cash and stock, and a later one for stock that gets its lock at 30 by its first attempt. */
  const passed = (facts: Partial<WaiterRecord> = {}): Partial<History> => ({
    waiters: [
      waiter({ resources: ["cash", "stock"], endedAtMs: 40, ...facts }),
      waiter({ calledAtMs: 5, endedAtMs: 30, attempt: "1.2" }),
    ],
    locks: [lock("1.2", { startedAtMs: 25, grantedAtMs: 30, endedAtMs: 35 })],
  });

  it("check() finds a call that passes one for several resources that is not blocked", () => {
    expect(found(passed())).toEqual([
      "30 queue order: a call of client 1 for stock got lock 1.2 and passed a call of client 1 for cash and stock, which was not blocked",
    ]);
    expect(found({ ...passed(), isFaultless: false })).toEqual([]);
    expect(found(passed({ resources: ["stock"] }))).toHaveLength(1);
  });

  it("check() accepts that a call is passed when its attempt may have met an earlier claim for the same resources", () => {
    const attempt = (name: string, startedAtMs: number, settledAtMs: number) => {
      return { name, client: "client 1", resources: ["cash", "stock"], startedAtMs, settledAtMs };
    };
    const attempts = [attempt("1.1", 5, 14), attempt("1.3", 16, 22)];
    expect(found({ ...passed({ undoMs: 3 }), attempts })).toEqual([]);
    expect(found({ ...passed({ undoMs: 2 }), attempts })).toHaveLength(1);
    expect(found({ ...passed({ undoMs: 3 }), attempts: attempts.slice(0, 1) })).toHaveLength(1);
    expect(found({ ...passed(), attempts: [attempt("1.1", 5, 14), attempt("1.3", 13, 22)] })).toEqual([]);
    expect(found({ ...passed(), attempts: [attempt("1.1", 25, 28), attempt("1.3", 26, 29)] })).toHaveLength(1);
    expect(
      found({ ...passed({ backOffMs: 0 }), attempts: [attempt("1.1", 5, 14), attempt("1.3", 13, 22)] }),
    ).toHaveLength(1);
  });

  it("check() accepts that a call is passed while it backs off as no quorum has agreed on its token", () => {
    const failed = { name: "1.1", client: "client 1", resources: ["cash", "stock"], startedAtMs: 16, settledAtMs: 22 };
    expect(found({ ...passed(), attempts: [{ ...failed, isUnreachable: true }] })).toEqual([]);
    expect(found({ ...passed(), attempts: [failed] })).toHaveLength(1);
    expect(found({ ...passed({ backOffMs: 0 }), attempts: [{ ...failed, isUnreachable: true }] })).toHaveLength(1);
  });

  it.each<[string, Partial<History>]>([
    ["another of its resources is locked", { locks: [lock("2.1", { resources: ["cash"], endedAtMs: 27 })] }],
    ["another was locked until shortly before", { locks: [lock("2.1", { resources: ["cash"], endedAtMs: 1 })] }],
    ["another is still locked", { locks: [lock("2.1", { resources: ["cash"], endedAtMs: undefined })] }],
    [
      "another process tries to lock another of its resources",
      {
        attempts: [{ name: "2.1", client: "client 2", resources: ["cash"], startedAtMs: 26, settledAtMs: undefined }],
      },
    ],
    [
      "it collects another of its resources",
      {
        attempts: [{ name: "1.1", client: "client 1", resources: ["cash"], startedAtMs: 24, settledAtMs: 29 }],
      },
    ],
  ])("check() accepts that a call is passed when %s", (_, others) => {
    const history = passed();
    expect(found({ ...history, ...others, locks: [...(history.locks ?? []), ...(others.locks ?? [])] })).toEqual([]);
  });

  it("check() finds that a call was passed although its other resources had been free for long", () => {
    const history = passed({ backOffMs: 1, attemptMs: 1 });
    const before = lock("2.1", { resources: ["cash"], startedAtMs: 1, grantedAtMs: 2, endedAtMs: 17 });
    expect(found({ ...history, locks: [...(history.locks ?? []), before] })).toHaveLength(1);
  });

  /** A call for cash and stock, while `times` later calls of a client lock each of them. */
  const busy = (client: string, times: number, facts: Partial<WaiterRecord> = {}): Partial<History> => {
    const later = ["cash", "stock"].flatMap((resource) =>
      Array.from({ length: times }, (_, index) => ({
        resources: [resource],
        attempt: `${client}.${resource}.${index}`,
      })),
    );
    const times_ = { startedAtMs: 1, grantedAtMs: 2, endedAtMs: 3, seenValid: undefined };
    return {
      waiters: [
        waiter({ client: "client 1", resources: ["cash", "stock"], timeoutMs: Infinity }),
        ...later.map(({ resources, attempt }) => waiter({ client, resources, attempt, endedAtMs: 2, ...facts })),
      ],
      locks: later.map(({ resources, attempt }, index) =>
        lock(attempt, { client, resources, fence: index, ...times_ }),
      ),
    };
  };

  it("check() finds a call that is passed too often on all of its resources", () => {
    expect(fairness(busy("client 2", 64))).toEqual([]);
    expect(fairness(busy("client 2", 65))).toEqual([
      "2 fairness: a call of client 1 for cash and stock was passed 130 times by later calls of 1 process",
    ]);
    expect(fairness(busy("client 1", 65))).toHaveLength(1);
  });

  it("check() counts passes for each process, and by the least busy resource of the call", () => {
    const [mine, theirs] = [busy("client 1", 60), busy("client 2", 60)];
    const waiters = [...(mine.waiters ?? []), ...(theirs.waiters ?? []).slice(1)];
    expect(fairness({ waiters, locks: [...(mine.locks ?? []), ...(theirs.locks ?? [])] })).toEqual([]);
    const one = busy("client 2", 100);
    expect(fairness({ ...one, locks: (one.locks ?? []).filter(({ resources }) => resources[0] === "cash") })).toEqual(
      [],
    );
  });

  it("check() counts passes only by locks that exclude the one of the waiter", () => {
    const mixed = (mode: LockMode, others: LockMode): Partial<History> => {
      const { waiters = [], locks = [] } = busy("client 2", 65, { mode: others });
      const [first, ...rest] = waiters as [WaiterRecord, ...WaiterRecord[]];
      return { waiters: [{ ...first, mode }, ...rest], locks: locks.map((each) => ({ ...each, mode: others })) };
    };
    expect(fairness(mixed("exclusive", "shared"))).toHaveLength(1);
    expect(fairness(mixed("shared", "exclusive"))).toHaveLength(1);
    expect(fairness(mixed("shared", "shared"))).toEqual([]);
  });

  it.each<[string, Partial<History>]>([
    ["there are faults", { ...busy("client 2", 65), isFaultless: false }],
    ["the others do not listen to notifications", busy("client 2", 65, { isNotified: false })],
  ])("check() does not count how often a call is passed when %s", (_, history) => {
    expect(fairness(history)).toEqual([]);
  });

  it("check() finds more requests than the calls and their back-offs account for", () => {
    const waiters = [waiter({ calledAtMs: 0, endedAtMs: 96 }), waiter({ calledAtMs: 0, endedAtMs: 96 })];
    const sent = { claims: 0, repeatedReleases: 0, mostInFlight: 1, inFlight: 0, owed: 0 };
    const traffic = (requests: number) => [
      { client: "client 1", node: "A", requests: requests - 1, ...sent },
      { client: "client 2", node: "A", requests: 1, ...sent },
      { client: "client 1", node: "B", requests: 40, ...sent },
    ];
    expect(found({ waiters, traffic: traffic(60) })).toEqual([]);
    expect(found({ waiters, traffic: traffic(61) })).toEqual([
      "96 cost: node A got 61 requests, although 2 calls that wait for 2 back-offs account for 60",
    ]);
    expect(found({ waiters, traffic: traffic(61), isFaultless: false })).toEqual([]);
    // Without notifications, ten delays between polls allow for as many requests as a back-off.
    const polling = waiters.map((each) => ({ ...each, isNotified: false }));
    expect(found({ waiters: polling, traffic: traffic(116) })).toEqual([]);
    expect(found({ waiters: polling, traffic: traffic(117) })).toHaveLength(1);
  });

  it("check() finds too many requests in flight to a node, and requests in flight at the end", () => {
    const counts = { requests: 0, claims: 3, repeatedReleases: 3, mostInFlight: 1500, inFlight: 0, owed: 0 };
    const sent = { client: "client 1", node: "A", ...counts };
    expect(found({ traffic: [sent] })).toEqual([]);
    expect(found({ traffic: [{ ...sent, repeatedReleases: 4 }] })).toEqual([
      "0 bounds: client 1 repeated 4 releases to node A, which it had sent 3 claims",
    ]);
    expect(found({ traffic: [{ ...sent, mostInFlight: 1501, inFlight: 2 }] })).toEqual([
      "0 bounds: client 1 had 1501 requests in flight to node A at the same time",
      "0 bounds: client 1 had 2 requests in flight to node A at the end",
    ]);
  });
});

/** Only the findings on fairness: the other checkers reject many locks at one moment. */
function fairness(facts: Partial<History>): string[] {
  return found(facts).filter((line) => line.includes(" fairness: "));
}
