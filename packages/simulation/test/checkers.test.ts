import { check, type History, type LockRecord } from "@holdfast/simulation";
import { describe, expect, it } from "vitest";

const uneventful: History = { locks: [], lostUpdates: [], misbehaviour: [], leaks: [], recovery: undefined };

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
