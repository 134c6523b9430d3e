import { Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { startRedisServer } from "@holdfast/testkit";
import { expect, onTestFinished, test } from "vitest";
import { createLatencies } from "../src/bench/latencies.ts";
import { renderLoad } from "../src/bench/render-load.ts";
import { resourcesOf, runLoad } from "../src/bench/run-load.ts";
import { runCommandLine } from "../src/command-line.ts";
import { runCli, startAtTerminal, startCli } from "./support/program.ts";
import { withServers } from "./support/servers.ts";

const servers = withServers(3);

const brief = ["--seconds", "0.2", "--node-timeout", "5s"];

/** Returns the keys on the servers. */
/** Returns the keys on each server, without fence counters, which stay. */
async function leftovers(): Promise<unknown[]> {
  const keys = await Promise.all(servers.all.map(({ command }) => command("KEYS", "*")));
  return keys.map((each) => (each as string[]).filter((key) => !key.startsWith("holdfast:fence:")));
}

test("bench: measures each load, then ten waiters for one lock, and removes its keys", async () => {
  const { code, out, err } = await runCli(["bench", ...brief, "--concurrency", "1,5", "--json"], { env: servers.env });
  expect({ code, err }).toEqual({ code: 0, err: "" });
  const results = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(results).toMatchObject([
    { concurrency: 1, isContended: false, failures: {} },
    { concurrency: 5, isContended: false, failures: {} },
    { concurrency: 10, isContended: true, failures: {} },
  ]);
  for (const { pairs, pairsPerSecond, seconds, latency } of results) {
    expect(pairs).toBeGreaterThan(0);
    expect(pairsPerSecond).toBeCloseTo(pairs / seconds);
    expect(latency.buckets.reduce((sum: number, { count }: { count: number }) => sum + count, 0)).toBe(pairs);
    expect(latency.minMs).toBeLessThanOrEqual(latency.medianMs);
    expect(latency.medianMs).toBeLessThanOrEqual(latency.p99Ms);
    expect(latency.p99Ms).toBeLessThanOrEqual(latency.maxMs);
  }
  expect(await leftovers()).toEqual([[], [], []]);
});

test("bench: prints ASCII in a pipe, and bars at a terminal", async () => {
  const args = ["bench", ...brief, "--concurrency", "2"];
  const piped = await runCli(args, { env: servers.env });
  expect(piped.out).toMatch(/^[\x20-\x7e\n]*$/);
  expect(piped.out).toMatch(/^2 at once: [\d,]+ a second; median .* ms, 99% .* ms, longest .*$/m);
  expect(piped.out).toMatch(/^ +[\d.]+ - [\d.]+ ms +[\d.]+% +#+$/m);
  expect(piped.out).toContain("10 at once, all for one lock: ");
  const drawn = await startAtTerminal(args, { env: { ...servers.env, LANG: "C.UTF-8" } }).ended;
  expect(drawn.out).toContain("█");
});

test("bench: works without servers", async () => {
  const { code, out } = await runCli(["bench", "--memory", ...brief, "--concurrency", "3", "--json"]);
  expect(code).toBe(0);
  for (const line of out.trim().split("\n")) expect(JSON.parse(line).pairs).toBeGreaterThan(0);
});

test.for(["redis", "memory"])("bench: ends at SIGINT with the results so far: %s", async (kind) => {
  const env = kind === "redis" ? servers.env : {};
  const args = ["bench", "--seconds", "7", "--concurrency", "1,2", ...(kind === "redis" ? [] : ["--memory"])];
  const cli = startCli([...args, "--node-timeout", "5s"], { env });
  await cli.prints("7 s for each load\n");
  cli.process.kill("SIGINT");
  const { code, out, err } = await cli.ended;
  expect({ code, err }).toEqual({ code: 130, err: "" });
  expect(out).not.toContain("2 at once");
  if (kind === "redis") await expect.poll(leftovers).toEqual([[], [], []]);
});

test("bench: exits with 69 when a majority of the servers is lost, after the results so far", async () => {
  const own = await Promise.all([1, 2, 3].map(() => startRedisServer()));
  onTestFinished(async () => void (await Promise.all(own.map((server) => server.stop()))));
  const env = { HOLDFAST_NODES: own.map(({ url }) => url).join(" ") };
  const cli = startCli(["bench", "--seconds", "0.5", "--concurrency", "1,2", "--node-timeout", "2s"], { env });
  await cli.prints("1 at once: ");
  await Promise.all(own.slice(1).map((server) => server.kill()));
  const { code, err } = await cli.ended;
  expect(code).toBe(69);
  expect(err).toContain("ECONNREFUSED");
});

test("runLoad() counts failures, and renderLoad() shows them", async () => {
  const broken = ["a", "b"].map((name) => ({
    ...memoryNode({ name }),
    acquire: () => Promise.reject(new Error("down")),
  }));
  const redlock = new Redlock([memoryNode(), ...broken]);
  const load = { concurrency: 2, isContended: false };
  const limits = { seconds: 25, pairs: 7, signal: new AbortController().signal };
  const result = await runLoad(redlock, load, resourcesOf(load), limits);
  expect(result).toMatchObject({ pairs: 0, latency: null, failures: { QUORUM_UNREACHABLE: 7 } });
  const shown = "2 at once: no lock was acquired and released\n  failed: QUORUM_UNREACHABLE, 7 times";
  expect(renderLoad(result, { width: 80, isUnicode: false })).toBe(shown);
});

test("bench: exits with 69 when no lock is granted, and gives the reason", async () => {
  const { code, out, err } = await runCli(["bench"], { env: { HOLDFAST_NODES: "127.0.0.1:1" } });
  expect({ code, out: out.split("\n").length }).toEqual({ code: 69, out: 2 });
  expect(err).toContain("ECONNREFUSED");
});

test.for([
  [["--seconds", "0"], "--seconds must be above 0"],
  [["--seconds", "11"], "4 loads may take 30 s in total"],
  [["--concurrency", "1,many"], "--concurrency must be a list of numbers"],
  [["--concurrency", "5000"], "from 1 to 1000"],
] as const)("bench: %j is a usage error", async ([args, message]) => {
  const refused = runCommandLine(["bench", ...args, "--memory"]);
  await expect(refused).rejects.toMatchObject({ exitCode: 64, message: expect.stringContaining(message) });
});

test("createLatencies() counts each latency in one bucket, with no gap between them", () => {
  const latencies = createLatencies();
  expect(latencies.summary()).toBe(null);
  for (const ms of [0.3, 0.4, 0.5, 3, 90_000]) latencies.record(ms);
  const { buckets, minMs, maxMs } = latencies.summary() ?? { buckets: [] };
  // The histogram keeps three digits.
  expect((minMs ?? 0) / 0.3).toBeCloseTo(1, 2);
  expect((maxMs ?? 0) / 90_000).toBeCloseTo(1, 2);
  expect(buckets.filter(({ count }) => count > 0)).toEqual([
    { fromMs: 0.2, toMs: 0.5, count: 2 },
    { fromMs: 0.5, toMs: 1, count: 1 },
    { fromMs: 2, toMs: 5, count: 1 },
    { fromMs: 50_000, toMs: Infinity, count: 1 },
  ]);
  for (const [index, { fromMs }] of buckets.entries()) {
    if (index > 0) expect(buckets[index - 1]?.toMs).toBe(fromMs);
  }
});
