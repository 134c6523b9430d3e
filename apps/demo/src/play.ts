import { setTimeout as sleep } from "node:timers/promises";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import { ledger, nodeNames, type Setup, sleeper } from "./options.ts";
import { colors, duration, type NodeState, type Run } from "./run.ts";
import type { World } from "./world.ts";

const { green, yellow } = colors;

/** The start of each act, as a share of the run. */
export const acts = { firstKill: 0.15, secondKill: 0.25, firstRestart: 0.45, secondRestart: 0.5, pause: 0.6, end: 1 };

/** The shortest pause, and the shortest absence of a node, in ttls. */
const pastTtl = 1.25;

/** How long to wait for another worker to take over from the sleeper. */
const takeoverTimeoutMs = 10_000;

const quorum = Math.floor(nodeNames.length / 2) + 1;

type Until = (atMs: number) => Promise<void>;

/** Plays the story: two nodes die and come back, and a worker is paused past its ttl. */
export async function play(world: World, run: Run, signal: AbortSignal): Promise<void> {
  const beganAtMs = monotonicMs();
  const until: Until = (atMs) => sleep(Math.max(0, atMs - monotonicMs()), undefined, { signal });
  const act = (share: number): Promise<void> => until(beganAtMs + share * run.setup.seconds * 1000);
  const [, first = "", , second = ""] = nodeNames;

  await act(acts.firstKill);
  await kill(world, run, first);
  await act(acts.secondKill);
  await kill(world, run, second);
  await act(acts.firstRestart);
  await restart(world, run, first, until);
  await act(acts.secondRestart);
  await restart(world, run, second, until);
  await act(acts.pause);
  await pauseSleeper(world, run, until);
  await act(acts.end);
}

/** Describes what the workers do, and what protects their counters. */
export function opening({ redis, locked, workers }: Setup): string {
  const clients = redis ? " (half of them over ioredis, half over node-redis)" : "";
  const protection = locked
    ? "only the lock protects orders, stock and report; ledger also checks fencing tokens."
    : "nothing protects orders, stock, report and ledger, as there are no tokens without locks.";
  return `${workers.length} workers${clients} read, wait and write counters: ${protection}`;
}

async function kill(world: World, run: Run, name: string): Promise<void> {
  await world.kill(name);
  run.nodes.set(name, { state: "down", sinceMs: monotonicMs() });
  const [left, all] = [run.count("up"), run.nodes.size];
  const enough = left > quorum ? "the work continues" : "just enough";
  run.say(yellow(`${name} was killed. ${left} of ${all} nodes are left and ${quorum} must agree: ${enough}.`));
}

/** Restarts a node, after every lock that it may have forgotten has ended. */
async function restart(world: World, run: Run, name: string, until: Until): Promise<void> {
  const { sinceMs } = run.nodes.get(name) as NodeState;
  await until(sinceMs + pastTtl * run.setup.redlock.ttlMs);
  run.nodes.set(name, { state: "restarting", sinceMs });
  await world.restart(name);
  const nowMs = monotonicMs();
  run.nodes.set(name, { state: "up", sinceMs: nowMs });
  const away = `It was down for ${duration(nowMs - sinceMs)}, longer than the ttl`;
  const memory = {
    kept: " on its port, and has read its claims and counters from disk.",
    lost: `, and empty. ${away}: no lock that it forgot can still be valid.`,
  };
  run.say(green(`${name} is back${memory[world.nodeMemory]}`));
}

/** Pauses the sleeper past its ttl, and until another worker has written the same counter. */
async function pauseSleeper(world: World, run: Run, until: Until): Promise<void> {
  const { redis, locked, redlock } = run.setup;
  await world.sleeper.approachWrite();
  const sinceMs = monotonicMs();
  run.pause = { sinceMs };
  const how = redis ? "its process is stopped (SIGSTOP)" : "it stalls like a stopped process";
  const story = locked
    ? `holds ${ledger.name} and has checked its lock. Right before it writes, ${how}: the ttl runs out.`
    : `has read ${ledger.name}. Right before it writes, ${how}.`;
  run.say(yellow(`${sleeper} ${story}`));

  await until(sinceMs + pastTtl * redlock.ttlMs);
  const isTakenOver = (): boolean =>
    run.visits.some(
      ({ resource, write, enteredAtMs }) => resource === ledger.name && write === "accepted" && enteredAtMs > sinceMs,
    );
  while (!isTakenOver() && monotonicMs() < sinceMs + takeoverTimeoutMs) await until(monotonicMs() + 10);
  const belief = locked ? ` It believes that it holds the lock (ttl ${duration(redlock.ttlMs)}), and writes.` : "";
  run.say(yellow(`${sleeper} continues after ${duration(monotonicMs() - sinceMs)}, unaware of the pause.${belief}`));
  await world.sleeper.write();
  run.finished.add(sleeper);
}
