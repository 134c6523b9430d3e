import { expect, test } from "vitest";
import type { Facts } from "../src/doctor/facts.ts";
import { judge } from "../src/doctor/judge.ts";
import { wrapped } from "../src/doctor/render.ts";
import { leastTtlMs, recommendedNodeTimeoutMs } from "../src/doctor/timeouts.ts";
import { longMs, shortMs } from "../src/output/format.ts";
import { terminalOf } from "../src/output/terminal.ts";
import type { Info } from "../src/servers/redis/redis-view.ts";
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
  expect(codes(factsOf({}, { sentinels: null, info, lockFailure: "READONLY" }))).toEqual([
    "no-quorum",
    "replica",
    "hidden",
    "even-number",
    "evicting-policy",
  ]);
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
  expect([0.2134, 0.999, 4.56, 34.5, 999.9, 61_000].map(shortMs)).toEqual([
    "0.21 ms",
    "1.0 ms",
    "4.6 ms",
    "35 ms",
    "1 s",
    "61 s",
  ]);
  expect([0, 250, 1_500, 30_000, 90_000, 3 * 86_400_000].map(longMs)).toEqual([
    "0 ms",
    "250 ms",
    "1.5 s",
    "30 s",
    "90 s",
    "3 d",
  ]);
});

test("wrapped() breaks lines between words, and never within a word", () => {
  expect(wrapped("one two three", 7)).toEqual(["one two", "three"]);
  expect(wrapped("a pneumonoultramicroscopic case", 9)).toEqual(["a", "pneumonoultramicroscopic", "case"]);
});

test("terminalOf() allows characters beyond ASCII only at a UTF-8 terminal", () => {
  const at = (isTTY: boolean, LANG: string, columns = 200) => terminalOf({ isTTY, columns }, { LANG });
  expect(at(true, "en_GB.UTF-8")).toEqual({ width: 100, isUnicode: true });
  expect(at(true, "C")).toEqual({ width: 100, isUnicode: false });
  expect(at(true, "C", 0)).toEqual({ width: 80, isUnicode: false });
  expect(at(false, "en_GB.UTF-8")).toEqual({ width: 80, isUnicode: false });
});
