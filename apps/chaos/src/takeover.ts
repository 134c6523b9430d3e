/** `pnpm --filter @holdfast/chaos takeover`: measures how soon the next leader begins; see README.md. */
import { parseArgs } from "node:util";
import { integer, readCommand, runProgram } from "@holdfast/app-kit/program";
import { startWorkerProcess, type WorkerProcess } from "@holdfast/app-kit/worker-process";
import { startRedisServer } from "@holdfast/testkit";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import type { CandidateFunctions, CandidateMessage } from "./client/candidate.ts";

const help = `Measures how soon the next leader begins after a resignation, and after a leader was killed.

Usage: pnpm --filter @holdfast/chaos takeover [options]

  --resignations N  how many (default 50)
  --kills N         how many (default 20)
  --ttl N           the ttl of the leader's claim, in milliseconds (default 2000)
  --help            prints this
`;

const program = new URL("./client/candidate.ts", import.meta.url).pathname;
const serverCount = 3;
const candidateCount = 3;
const patienceMs = 60_000;

const command = readCommand(process.argv.slice(2), (args) => {
  const options = {
    resignations: { type: "string", default: "50" },
    kills: { type: "string", default: "20" },
    ttl: { type: "string", default: "2000" },
    help: { type: "boolean", default: false },
  } as const;
  const { values } = parseArgs({ args, options });
  if (values.help) return help;
  return {
    resignations: integer("--resignations", values.resignations, 0),
    kills: integer("--kills", values.kills, 0),
    ttlMs: integer("--ttl", values.ttl, 500, 60_000),
  };
});

await runProgram("takeover", command, async ({ resignations, kills, ttlMs }, cleanup, signal) => {
  const servers = await Promise.all(Array.from({ length: serverCount }, () => startRedisServer()));
  cleanup.defer(async () => {
    await Promise.all(servers.map((server) => server.stop()));
  });
  const urls = servers.map(({ url }) => url);
  const candidates = new Map<string, WorkerProcess<CandidateFunctions>>();
  /** The last term that began. */
  let leader = { name: "", beganMs: 0 };
  let onBegun = (): void => {};
  let started = 0;
  const startCandidate = async (): Promise<void> => {
    const name = `candidate-${++started}`;
    const tell = ({ kind, atMs }: CandidateMessage): void => {
      if (kind !== "began") return;
      leader = { name, beganMs: atMs };
      onBegun();
    };
    const candidate = startWorkerProcess<CandidateFunctions>(program, { name, events: { tell } });
    cleanup.defer(() => candidate.stop());
    candidates.set(name, candidate);
    await candidate.call("open", patienceMs, name, urls, ttlMs);
  };
  /** Ends the term of the leader, and returns how long it takes until another candidate leads. */
  const takeover = async (end: (candidate: WorkerProcess<CandidateFunctions>) => unknown): Promise<number> => {
    await new Promise((resolve) => setTimeout(resolve, 1_200 + Math.random() * ttlMs)); // at any moment of the claim
    signal.throwIfAborted();
    const begun = new Promise<void>((resolve) => {
      onBegun = resolve;
    });
    const former = leader.name;
    const endedMs = monotonicMs();
    await end(candidates.get(former) as WorkerProcess<CandidateFunctions>);
    await begun;
    if (leader.name === former) throw new Error(`${former} succeeded itself`);
    return leader.beganMs - endedMs;
  };
  const first = new Promise<void>((resolve) => {
    onBegun = resolve;
  });
  for (let count = 0; count < candidateCount; count++) await startCandidate();
  await first;

  const resigned: number[] = [];
  while (resigned.length < resignations) {
    resigned.push(await takeover((candidate) => candidate.call("resign", patienceMs)));
  }
  if (resignations > 0) console.log(lineOf("resignation", resigned));
  const killed: number[] = [];
  while (killed.length < kills) {
    killed.push(await takeover((candidate) => candidate.kill()));
    await startCandidate();
  }
  if (kills > 0) console.log(lineOf(`kill (ttl ${ttlMs} ms)`, killed));
  return true;
});

function lineOf(event: string, figuresMs: readonly number[]): string {
  const sorted = figuresMs.toSorted((a, b) => a - b);
  const at = (share: number) => `${(sorted[Math.round(share * (sorted.length - 1))] ?? Number.NaN).toFixed(1)} ms`;
  return `${event}: ${sorted.length} times; next leader after ${at(0)} at least, ${at(0.5)} median, ${at(1)} at most`;
}
