import { check, type History, type LockRecord, type WaitRecord } from "@holdfast/simulation";
import { describe, expect, it } from "vitest";

const uneventful: History = { locks: [], waits: [], lostUpdates: [], misbehaviour: [], leaks: [], recovery: undefined };

/** A lock that was asked for at 0, granted at 10, and seen valid until 20, unless told otherwise. */
function lock(attempt: string, facts: Partial<LockRecord> = {}): LockRecord {
  const times = { startedAtMs: 0, grantedAtMs: 10, seenValid: { fromMs: 10, untilMs: 20 } };
  return { attempt, client: `client ${attempt[0]}`, resources: ["stock"], fence: 1, ...times, ...facts };
}

/** One that comes after it in every respect. */
function later(attempt: string, facts: Partial<LockRecord> = {}): LockRecord {
  return lock(attempt, {
    fence: 2,
    startedAtMs: 30,
    grantedAtMs: 40,
    seenValid: { fromMs: 40, untilMs: 50 },
    ...facts,
  });
}

function found(facts: Partial<History>): string[] {
  return check({ ...uneventful, ...facts }).map(({ checker, what, atMs }) => `${atMs} ${checker}: ${what}`);
}

describe("check()", () => {
  it("check() finds nothing in locks that follow one another", () => {
    expect(found({})).toEqual([]);
    expect(found({ locks: [lock("1.1"), later("2.1")] })).toEqual([]);
  });

  it("check() finds two locks on one resource that are believed valid at the same time", () => {
    const what = "mutual exclusion: locks 1.1 and 2.1 on stock are both believed valid";
    expect(found({ locks: [lock("1.1"), later("2.1", { seenValid: { fromMs: 15, untilMs: 18 } })] })).toEqual([
      `15 ${what}`,
    ]);
    expect(found({ locks: [lock("1.1"), later("2.1", { seenValid: { fromMs: 20, untilMs: 20 } })] })).toEqual([
      `20 ${what}`,
    ]);
  });

  it("check() lets locks on different resources be valid at the same time, and locks that nobody saw valid", () => {
    const together = { seenValid: { fromMs: 15, untilMs: 18 } };
    expect(found({ locks: [lock("1.1"), later("2.1", { ...together, resources: ["cash"] })] })).toEqual([]);
    expect(found({ locks: [lock("1.1"), later("2.1", { seenValid: undefined })] })).toEqual([]);
    expect(found({ locks: [lock("1.1"), later("2.1", { ...together, resources: ["cash", "stock"] })] })).toHaveLength(
      1,
    );
  });

  it("check() finds a token that was given twice, also to locks that were asked for at the same time", () => {
    const same = later("2.1", { fence: 1 });
    expect(found({ locks: [lock("1.1"), same] })).toEqual([
      "40 fence order: locks 1.1 and 2.1 on stock both have the token 1",
    ]);
    expect(found({ locks: [lock("1.1"), { ...same, startedAtMs: 0 }] })).toHaveLength(1);
    expect(found({ locks: [lock("1.1"), { ...same, resources: ["cash"] }] })).toEqual([]);
  });

  it("check() finds a smaller token of a lock that was asked for after another was granted, and only then", () => {
    const smaller = later("2.1", { fence: 0 });
    expect(found({ locks: [lock("1.1"), smaller] })).toEqual([
      "40 fence order: lock 2.1, asked for after lock 1.1 was granted, has the smaller token on stock: 0 after 1",
    ]);
    expect(found({ locks: [smaller, lock("1.1")] })).toHaveLength(1);
    expect(found({ locks: [lock("1.1"), { ...smaller, startedAtMs: 10 }] })).toEqual([]);
  });

  it("check() finds an update that is lost in a storage that checks every token, and in no other", () => {
    const lost = { atMs: 5, resource: "stock", lost: "1.1", by: "2.1" };
    expect(found({ lostUpdates: [{ ...lost, storage: "checks all" }] })).toEqual([
      "5 fenced storage: the update of lock 1.1 on stock is lost to lock 2.1, in a storage that checks every token",
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

  it("check() finds that nobody got a lock in time when all faults were over", () => {
    const recovery = { fromMs: 100, boundMs: 50, lockedAtMs: 150 };
    expect(found({ recovery })).toEqual([]);
    const late = "150 liveness: nobody got a lock within 50 ms without any fault";
    expect(found({ recovery: { ...recovery, lockedAtMs: 151 } })).toEqual([late]);
    expect(found({ recovery: { ...recovery, lockedAtMs: undefined } })).toEqual([late]);
  });

  it("check() reports what was left behind and what misbehaved, the earliest first", () => {
    const misbehaviour = [{ atMs: 9, what: "client 1 hangs" }];
    const leaks = [{ atMs: 3, what: "node A still keeps a claim" }];
    expect(found({ misbehaviour, leaks })).toEqual([
      "3 clean end: node A still keeps a claim",
      "9 clean end: client 1 hangs",
    ]);
  });
});

/** A call that waits from 0 to 20 and gets no lock, unless told otherwise. */
function wait(facts: Partial<WaitRecord> = {}): WaitRecord {
  return {
    ...{ client: "client 1", resources: ["stock"], calledAtMs: 0, endedAtMs: 20, attempt: undefined },
    ...{ patienceMs: 100, waitedMs: 20, mayWaitMs: 150, idleMs: 5, mayIdleMs: 50 },
    ...facts,
  };
}

describe("check() of those who wait", () => {
  it("check() finds a call that ends later than its patience and an attempt allow", () => {
    expect(found({ waits: [wait({ waitedMs: 150 }), wait({ waitedMs: 500, endedAtMs: undefined })] })).toEqual([]);
    expect(found({ waits: [wait({ waitedMs: 151 })] })).toEqual([
      "20 liveness: a call of client 1 for stock ends after 151 ms, though it may take 150 ms at the most",
    ]);
  });

  it("check() finds a call for which nothing was tried for longer than a back-off, as when it relied on a wake-up", () => {
    expect(found({ waits: [wait({ idleMs: 50 })] })).toEqual([]);
    expect(found({ waits: [wait({ idleMs: 51 })] })).toEqual([
      "20 liveness: a call of client 1 for stock waits for 51 ms without an attempt, though 50 ms is the longest delay",
    ]);
  });

  it("check() finds a call that gets its lock before an earlier one of its process for the same resources", () => {
    const early = wait({ endedAtMs: 40 });
    const late = wait({ calledAtMs: 5, endedAtMs: 30, attempt: "1.2" });
    expect(found({ waits: [early, late] })).toEqual([
      "30 queue order: a call of client 1 for stock gets lock 1.2 before an earlier one that waits",
    ]);
    expect(found({ waits: [wait({ endedAtMs: undefined }), late] })).toHaveLength(1);
  });

  it.each([
    ["has ended", { endedAtMs: 30 }, {}],
    ["has waited for as long as it was ready to", { patienceMs: 30 }, {}],
    ["is another process's", { client: "client 2" }, {}],
    ["wants something else", { resources: ["cash", "stock"] }, {}],
    ["came to nothing", {}, { attempt: undefined }],
    ["did not wait", {}, { patienceMs: 0 }],
  ])("check() lets a call pass another when one %s", (_, early, late) => {
    const waits = [wait({ endedAtMs: 40, ...early }), wait({ calledAtMs: 5, endedAtMs: 30, attempt: "1.2", ...late })];
    expect(found({ waits })).toEqual([]);
  });

  /** Locks of which each is handed over to the next, from the first millisecond on, one in each. */
  const series = (handOvers: number, handingOverMs = handOvers): LockRecord[] =>
    Array.from({ length: handOvers + 1 }, (_, index) => {
      const takenOverFrom = index === 0 ? undefined : `1.${index}`;
      const times = { startedAtMs: index + 0.5, grantedAtMs: index + 1, seenValid: undefined };
      const sinceMs = (handingOverMs * index) / handOvers;
      return lock(`1.${index + 1}`, { fence: index + 1, takenOverFrom, handingOverMs: sinceMs, ...times });
    });

  it("check() finds a process that hands its lock over again and again while another one waits for it", () => {
    const rival = wait({ client: "client 2" });
    expect(found({ locks: series(16), waits: [rival] })).toEqual([]);
    expect(found({ locks: series(17), waits: [rival] })).toEqual([
      "18 liveness: lock 1.18 comes of hand-over 17 in a row, which began after 17 ms of them, while a call of client 2 for stock waits",
    ]);
  });

  it("check() finds hand-overs that go on for more than 50 ms while another process waits", () => {
    const locks = series(1, 51);
    const waits = [wait({ client: "client 2" })];
    expect(found({ locks, waits })).toEqual([
      "2 liveness: lock 1.2 comes of hand-over 1 in a row, which began after 51 ms of them, while a call of client 2 for stock waits",
    ]);
    expect(found({ locks: series(1, 50), waits })).toEqual([]);
  });

  it.each([
    ["nobody waits", []],
    ["nobody else waits", [wait()]],
    ["others want something else", [wait({ client: "client 2", resources: ["cash"] })]],
    ["others have come later", [wait({ client: "client 2", calledAtMs: 2 })]],
    ["others had their turn", [wait({ client: "client 2", endedAtMs: 18 })]],
  ])("check() lets a process hand over as often as it likes when %s", (_, waits) => {
    expect(found({ locks: series(30), waits })).toEqual([]);
  });
});
