import { setTimeout as sleep } from "node:timers/promises";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import { ledger, nodeNames, type Setup, sleeper } from "./options.ts";
import { colors, duration, type NodeState, type Run, type Visit } from "./run.ts";
import type { World } from "./world.ts";

const { green, red, yellow } = colors;

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
  run.twoDown.fromMs = monotonicMs();
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
  const enough = run.nodesUp > quorum ? "the work continues" : "just enough";
  const left = `${run.nodesUp} of ${run.nodes.size} nodes are left and ${quorum} must agree`;
  run.say(yellow(`${name} was killed. ${left}: ${enough}.`));
}

/** Restarts a node, after every lock that it may have forgotten has ended. */
async function restart(world: World, run: Run, name: string, until: Until): Promise<void> {
  const { sinceMs } = run.nodes.get(name) as NodeState;
  await until(sinceMs + pastTtl * run.setup.redlock.ttlMs);
  run.nodes.set(name, { state: "restarting", sinceMs });
  run.twoDown.untilMs = Math.min(run.twoDown.untilMs, monotonicMs());
  await world.restart(name);
  const nowMs = monotonicMs();
  run.nodes.set(name, { state: "up", sinceMs: nowMs });
  const away = `It was down for ${duration(nowMs - sinceMs)}, longer than the ttl`;
  const memory = run.setup.redis
    ? " on its port, and has read its claims and counters from disk."
    : `, and empty. ${away}: no lock that it forgot can still be valid.`;
  run.say(green(`${name} is back${memory}`));
}

/** Pauses the sleeper past its ttl, and until another worker has written the same counter. */
async function pauseSleeper(world: World, run: Run, until: Until): Promise<void> {
  const { redis, locked, redlock } = run.setup;
  await world.sleeper.approachWrite();
  const sinceMs = monotonicMs();
  run.isPaused = true;
  const how = redis ? "its process is stopped (SIGSTOP)" : "it stalls like a stopped process";
  const story = locked
    ? `holds ${ledger.name} and has checked its lock. Right before it writes, ${how}: the ttl runs out.`
    : `has read ${ledger.name}. Right before it writes, ${how}.`;
  run.say(yellow(`${sleeper} ${story}`));

  const findLater = async (isWanted: (visit: Visit) => boolean): Promise<Visit | undefined> => {
    for (; ; await until(monotonicMs() + 10)) {
      const found = run.visits.find(
        (visit) => visit.resource === ledger.name && visit.enteredAtMs > sinceMs && isWanted(visit),
      );
      if (found || monotonicMs() > sinceMs + takeoverTimeoutMs) return found;
    }
  };
  const successor = await findLater(() => true);
  if (successor && locked)
    run.say(`${successor.worker} is granted ${ledger.name}, with the larger token ${successor.fence}.`);
  await until(sinceMs + pastTtl * redlock.ttlMs);
  await findLater(({ write }) => write === "accepted");
  const belief = locked ? ` It believes that it holds the lock (ttl ${duration(redlock.ttlMs)}), and writes.` : "";
  run.say(yellow(`${sleeper} continues after ${duration(monotonicMs() - sinceMs)}, unaware of the pause.${belief}`));
  await world.sleeper.write();
  run.isPaused = false;
  run.finished.add(sleeper);
  sayEnding(run);
}

function sayEnding(run: Run): void {
  const { write, fence, newestFence } = run.lateVisit as Visit;
  if (write === "none") run.say(yellow(`${sleeper} wrote nothing.`));
  if (write === "accepted") {
    const ignorance = `without a token, the database could not know that ${sleeper} was late`;
    run.say(red(`ACCEPTED: ${ignorance}. The write undid those of others.`));
  }
  if (write === "refused") {
    run.say(green(`REFUSED: the database has seen token ${newestFence}, and the token of ${sleeper} is ${fence}.`));
    run.say("Without tokens, this write would have undone another worker's. No lock can prevent that.");
  }
}
