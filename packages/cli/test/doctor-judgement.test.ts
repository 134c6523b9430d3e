import { expect, test } from "vitest";

import type { Facts, ServerFacts, Stored } from "../src/doctor/facts.ts";
import { judge } from "../src/doctor/judge.ts";
import { leastTtlMs, recommendedNodeTimeoutMs } from "../src/doctor/set-findings.ts";
import { longMs, shortMs, wrapped } from "../src/output/format.ts";
import type { Info } from "../src/servers/redis/examine-redis.ts";
import type { SqliteView } from "../src/servers/sqlite/sqlite-findings.ts";
import { factsOf, healthyView as view } from "./doctor/example.ts";

const codes = (facts: Facts): string[] => judge(facts).findings.map(({ code }) => code);

test("judge() finds nothing about three healthy servers on separate machines", () => {
  expect(judge(factsOf({}, {}, {}))).toEqual({
    level: "fenced",
    quorum: 2,
    mayFail: 1,
    recommendedNodeTimeoutMs: 50,
    findings: [],
  });
});

test("judge() puts the worst findings first", () => {
  const info = { ...view.info, replicaOf: "s0:6379", maxmemoryPolicy: "allkeys-lru" } as Info;
  const found = codes(factsOf({}, { sentinels: null, info, lockFailure: "READONLY" }));
  expect(found.join(" ")).toBe("no-quorum replica hidden even-number evicting-policy");
});

test("judge() counts only the certain part of a clock difference", () => {
  const clock = (aheadMs: number, uncertaintyMs: number) => ({ clock: { aheadMs, uncertaintyMs } });
  expect(codes(factsOf(clock(900, 450), {}, {}))).toEqual([]);
  expect(codes(factsOf(clock(900, 300), {}, {}))).toEqual(["clock-differs"]);
  expect(codes(factsOf(clock(-900, 300), {}, {}))).toEqual(["clock-differs"]);
});

test("judge() reports servers on one machine only if there is no quorum without it", () => {
  const facts = factsOf({}, {}, {}, {}, {});
  const onMachines = (machines: readonly string[]): Facts => ({
    ...facts,
    servers: facts.servers.map((server, index) => ({
      ...server,
      address: { ...server.address, machine: machines[index] as string },
    })),
  });
  expect(codes(onMachines(["a", "a", "b", "b", "c"]))).toEqual([]);
  expect(codes(onMachines(["a", "a", "a", "b", "c"]))).toEqual(["same-machine"]);
});

/** Returns facts about healthy servers that keep these things. */
function factsWith(...kept: readonly Partial<Stored>[]): Facts {
  const facts = factsOf(...kept.map(() => ({})));
  const servers = facts.servers.map((server, index) => {
    return { ...server, stored: { floor: 0, epoch: 0, counters: 100, isComplete: true, ...kept[index] } };
  });
  return { ...facts, servers };
}

test("judge() asks to heal a server with few counters only if nothing else explains them", () => {
  expect(codes(factsWith({}, {}, { counters: 9 }))).toEqual(["needs-heal"]);
  expect(codes(factsWith({}, {}, { counters: 10 }))).toEqual([]);
  expect(codes(factsWith({}, {}, { counters: 9, isComplete: false }))).toEqual([]);
  expect(codes(factsWith({}, {}, { counters: 9, floor: 5 }))).toEqual([]);
  expect(codes(factsWith({}, {}, { counters: null }))).toEqual([]);
  expect(codes(factsWith({ counters: 19 }, { counters: 19 }, { counters: 0 }))).toEqual([]);
  expect(codes(factsWith({}, { counters: 0 }, { counters: 0 }))).toEqual(["needs-heal", "needs-heal"]);
});

test("judge() misses a floor only where a majority of the set has one", () => {
  expect(codes(factsWith({ floor: 5 }, { floor: 5 }, { counters: 50 }))).toEqual(["floor-missing"]);
  expect(codes(factsWith({ floor: 5 }, {}, {}))).toEqual([]);
});

test("judge() misses no floor on a server that kept its counters while the others were healed one by one", () => {
  const healed = { floor: 5, counters: 100 };
  expect(codes(factsWith(healed, healed, { counters: 90 }))).toEqual([]);
  expect(codes(factsWith(healed, healed, { counters: 89 }))).toEqual(["floor-missing"]);
  expect(codes(factsWith(healed, healed, { counters: null }))).toEqual(["floor-missing"]);
  const few = { floor: 5, counters: 1 };
  expect(codes(factsWith(few, few, { counters: 20 }))).toEqual([]);
  expect(codes(factsWith(few, few, { counters: 19 }))).toEqual(["floor-missing"]);
});

test("judge() compares the counters of servers of one kind, because Redis keeps them for a day and others for good", () => {
  const { servers, ...facts } = factsWith({}, {}, { counters: 5 });
  const [redis, other, few] = servers as [ServerFacts, ServerFacts, ServerFacts];
  const fileSystem = { name: "ext4", isRemote: false, isInMemory: false, freeBytes: 1e12 };
  const { summary } = view;
  const sqlite: SqliteView = {
    ...{ kind: "sqlite", latency: null, clock: null, lockFailure: null, summary },
    mode: 0o600,
    fileSystem,
  };
  const asSqlite = (server: ServerFacts): ServerFacts => ({ ...server, view: sqlite });
  expect(codes({ ...facts, servers: [asSqlite(redis), asSqlite(other), few] })).not.toContain("needs-heal");
  expect(codes({ ...facts, servers: [asSqlite(redis), other, few] })).toContain("needs-heal");
});

test("judge() reports servers of an earlier stage than others, and those that refuse the user's clients", () => {
  expect(codes({ ...factsWith({ epoch: 5 }, { epoch: 5 }, { epoch: 4 }), generation: 1 })).toEqual([
    "generation-behind",
  ]);
  expect(codes({ ...factsWith({ epoch: 4 }, { epoch: 4 }, { epoch: 4 }), generation: 1 })).toEqual([]);
  const refusing = factsWith({ epoch: 3 }, { epoch: 3 }, { epoch: 3 });
  expect(codes(refusing)).toEqual(Array(3).fill("generation-refused"));
  expect(judge(refusing).findings[0]?.message).toBe(
    "serves clients of generation 0 with both sets, and yours are of generation 0",
  );
  expect(codes({ ...factsWith({}, {}, {}), generation: 1 })).toEqual([]);
});

test("judge() judges each set of a change by itself", () => {
  const joint = { old: [0, 1, 2], new: [3, 4, 5] };
  const empty = { counters: 0 };
  expect(codes({ ...factsWith({}, {}, {}, empty, empty, empty), joint })).toEqual([]);
  expect(codes({ ...factsWith({}, {}, empty, {}, {}, {}), joint })).toEqual(["needs-heal"]);
  const left = { epoch: 2, counters: 50 };
  const floored = { epoch: 4, floor: 5 };
  const joined = factsWith({ epoch: 3 }, { epoch: 3 }, left, floored, floored, left);
  expect(codes({ ...joined, joint })).toEqual(["generation-behind", "floor-missing"]);
  const down = factsOf({}, {}, {}, {}, { lockFailure: "ERR" }, { lockFailure: "ERR" });
  expect(judge({ ...down, joint }).findings[0]).toMatchObject({
    ...{ code: "no-quorum", message: "in the new set, 1 of 3 servers grant locks, 2 needed" },
  });
});

test("judge() does not mistake Valkey for an old Redis", () => {
  const info = { ...view.info, product: "Valkey", version: "8.1.1" } as Info;
  expect(codes(factsOf({ info }, { info }, { info }))).toEqual([]);
});

test("recommendedNodeTimeoutMs() is five times the slowest, from 50 ms to a tenth of the ttl", () => {
  const withP99 = (...p99s: readonly number[]): Facts =>
    factsOf(...p99s.map((p99Ms) => ({ latency: { medianMs: 1, p99Ms, pings: 100 } })));
  expect(recommendedNodeTimeoutMs(withP99(0.2, 0.3))).toBe(50);
  expect(recommendedNodeTimeoutMs(withP99(0.2, 41))).toBe(210);
  expect(recommendedNodeTimeoutMs(withP99(900))).toBe(3_000);
  expect(recommendedNodeTimeoutMs({ ...withP99(0.2), suggestedNodeTimeoutMs: 250 })).toBe(250);
  expect(recommendedNodeTimeoutMs({ ...withP99(0.2), ttlMs: 100 })).toBe(10);
  expect(recommendedNodeTimeoutMs(factsOf())).toBe(null);
});

test("leastTtlMs() is fifty times the slowest", () => {
  expect(leastTtlMs(factsOf({ latency: { medianMs: 1, p99Ms: 41, pings: 100 } }))).toBe(2_050);
  expect(leastTtlMs(factsOf())).toBe(null);
});

test("shortMs() and longMs() keep two significant digits", () => {
  const short = [0.2134, 0.999, 4.56, 34.5, 999.9, 61_000].map(shortMs);
  expect(short.join()).toBe("0.21 ms,1.0 ms,4.6 ms,35 ms,1 s,61 s");
  const long = [0, 250, 1_500, 30_000, 90_000, 3 * 86_400_000].map(longMs);
  expect(long.join()).toBe("0 ms,250 ms,1.5 s,30 s,90 s,3 d");
});

test("wrapped() breaks lines between words, and never within a word", () => {
  expect(wrapped("one two three", 7)).toEqual(["one two", "three"]);
  expect(wrapped("a pneumonoultramicroscopic case", 9)).toEqual(["a", "pneumonoultramicroscopic", "case"]);
});
