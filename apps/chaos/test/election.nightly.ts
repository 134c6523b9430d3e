import { startWorkerProcess, type WorkerProcess } from "@holdfast/app-kit/worker-process";
import { startTcpProxy, type TcpProxy } from "@holdfast/conformance/tcp-proxy";
import { type RedisServer, startRedisServer } from "@holdfast/testkit";
import { bundleProgram } from "@holdfast/testkit/bundle-program";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import { expect, onTestFinished, test } from "vitest";
import type { CandidateFunctions, CandidateMessage } from "./fixtures/candidate.ts";

const ttlMs = 2_000;
const program = new URL("./fixtures/candidate.ts", import.meta.url);
const patienceMs = 30_000;

interface Term {
  readonly candidate: string;
  readonly fence: number;
  readonly beganMs: number;
  /** The last time at which the term had not ended; undefined while it lasts. */
  lastMs?: number;
  reason?: string | undefined;
}

/** A process that stands for election, over proxies of its own. */
interface Candidate {
  readonly name: string;
  readonly process: WorkerProcess<CandidateFunctions>;
  readonly network: readonly TcpProxy[];
}

async function startElection() {
  const servers = await Promise.all(Array.from({ length: 3 }, () => startRedisServer({ appendonly: true })));
  onTestFinished(async () => {
    await Promise.all(servers.map((server) => server.stop()));
  });
  const terms: Term[] = [];
  const candidates = await Promise.all(["alice", "bob", "carol"].map((name) => startCandidate(name, servers, terms)));
  /** Waits for a term that began after a moment, and returns its candidate. */
  const leaderAfter = async (momentMs: number, among = candidates): Promise<Candidate> => {
    const isIt = (term: Term) => term.beganMs > momentMs && among.some(({ name }) => name === term.candidate);
    await expect.poll(() => terms.some(isIt)).toBe(true);
    return candidates.find(({ name }) => name === terms.find(isIt)?.candidate) as Candidate;
  };
  return { servers, candidates, terms, leaderAfter };
}

async function startCandidate(name: string, servers: readonly RedisServer[], terms: Term[]): Promise<Candidate> {
  const network = await Promise.all(servers.map(({ port }) => startTcpProxy({ port })));
  const tell = ({ kind, fence, atMs, reason }: CandidateMessage): void => {
    const term = terms.find((one) => one.fence === fence && one.candidate === name);
    if (kind === "began") terms.push({ candidate: name, fence, beganMs: atMs });
    else if (term) Object.assign(term, { lastMs: atMs, reason });
  };
  const process = startWorkerProcess<CandidateFunctions>(await bundleProgram(program), { name, events: { tell } });
  onTestFinished(async () => {
    await process.stop();
    await Promise.all(network.map((proxy) => proxy.close()));
  });
  const urls = network.map(({ port }) => `redis://127.0.0.1:${port}`);
  await process.call("open", patienceMs, name, urls, ttlMs);
  return { name, process, network };
}

/** Fails if two terms have one number, are out of order, or overlap. */
function expectInOrder(terms: readonly Term[]): void {
  const inTime = [...terms].sort((a, b) => a.beganMs - b.beganMs);
  for (const [index, later] of inTime.slice(1).entries()) {
    const earlier = inTime[index] as Term;
    expect(later.fence).toBeGreaterThan(earlier.fence);
    if (earlier.lastMs !== undefined) expect(later.beganMs).toBeGreaterThan(earlier.lastMs);
  }
}

test("election(): a leader that is killed has a successor, and after one resigns another one leads", async () => {
  const { terms, candidates, leaderAfter } = await startElection();
  const first = await leaderAfter(0);
  first.process.kill();
  const rest = candidates.filter((one) => one !== first);
  const leaders = [await leaderAfter(terms[0]?.beganMs ?? 0, rest)];
  for (let round = 0; round < 4; round++) {
    const momentMs = monotonicMs();
    await leaders[0]?.process.call("resign", patienceMs);
    leaders.unshift(await leaderAfter(momentMs));
    expect(leaders[0]).not.toBe(leaders[1]);
  }
  expect(terms.filter(({ reason }) => reason === "resigned")).toHaveLength(4);
  expectInOrder(terms);
});

test("election(): a leader that is stopped past its ttl has ended its term when it wakes, and stands again", async () => {
  const { terms, leaderAfter } = await startElection();
  const paused = await leaderAfter(0);
  paused.process.pause();
  const next = await leaderAfter(monotonicMs());
  expect(next).not.toBe(paused);
  paused.process.resume();
  await expect.poll(() => terms[0]?.reason).toBe("expired");
  const momentMs = monotonicMs();
  next.process.kill();
  await leaderAfter(momentMs);
  expectInOrder(terms);
});

test("election(): a leader that is cut off ends its term before the next one leads, and stands again", async () => {
  const { terms, candidates, leaderAfter } = await startElection();
  const cutOff = await leaderAfter(0);
  for (const proxy of cutOff.network) proxy.stall();
  const next = await leaderAfter(monotonicMs());
  await expect.poll(() => terms[0]?.reason).toBe("expired");
  for (const proxy of cutOff.network) await proxy.start();
  for (const one of candidates) if (one !== cutOff && one !== next) one.process.kill();
  const momentMs = monotonicMs();
  next.process.kill();
  expect(await leaderAfter(momentMs)).toBe(cutOff);
  expectInOrder(terms);
});

test("election(): terms stay in order while all servers are restarted in turn, and leaders resign meanwhile", async () => {
  const { servers, terms, candidates, leaderAfter } = await startElection();
  await leaderAfter(0);
  for (const server of servers) {
    const momentMs = monotonicMs();
    await server.kill();
    await Promise.all(candidates.map(({ process }) => process.call("resign", patienceMs).catch(() => {})));
    await leaderAfter(momentMs);
    await server.restart();
    await expect.poll(() => server.command("PING")).toBe("PONG");
    const restartedMs = monotonicMs();
    await Promise.all(candidates.map(({ process }) => process.call("resign", patienceMs).catch(() => {})));
    await leaderAfter(restartedMs);
  }
  expect(new Set(terms.map(({ fence }) => fence)).size).toBe(terms.length);
  expect(terms.length).toBeGreaterThanOrEqual(7);
  expectInOrder(terms);
});
