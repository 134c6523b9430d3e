import { setTimeout as sleep } from "node:timers/promises";
import { createDice } from "@holdfast/app-kit/dice";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import type { Journal } from "../history/journal.ts";
import type { Band } from "../history/visit.ts";
import { type MessageTest, type Stage, type Step, Stuck } from "../nemeses/nemesis.ts";
import type { Slice } from "../schedule.ts";
import type { World } from "../world/world.ts";

/** The stage of one slice. */
export interface OpenStage extends Stage {
  /** Ends all faults. Safe to call more than once. */
  heal(): Promise<void>;
}

/** How long a busy machine may take to grant a lock, or to reply. */
const patienceMs = 15_000;

/** What an attack is made of. */
interface Props {
  readonly ttlMs: number;
  readonly journal: Journal;
  readonly signal: AbortSignal;
}

/** Opens the stage of a slice. Its waits reject when the signal aborts or the world breaks. */
export function openStage(world: World, slice: Slice, { ttlMs, journal, signal }: Props): OpenStage {
  let faults: { readonly band: Band; readonly end: () => Step }[] = [];
  const unlessBroken = <T>(promise: Promise<T>): Promise<T> => Promise.race([promise, world.broken]);
  const until = (what: string, isIt: MessageTest): Promise<void> =>
    unlessBroken(untilMessage(world, isIt, what, signal));
  const nextGrant = (what: string): Promise<void> => {
    const nowMs = monotonicMs();
    return until(what, (message) => message.kind === "granted" && message.grant.attemptAtMs > nowMs);
  };
  const pass = (ms: number): Promise<void> => unlessBroken(sleep(ms, undefined, { signal }));
  // The rest of the slice is the time before and after the fault.
  const durationMs = 0.8 * slice.durationMs;

  return {
    nodes: slice.nodes.flatMap((name) => world.nodes.filter((node) => node.name === name)),
    clients: slice.clients.flatMap((name) => world.clients.filter((client) => client.name === name)),
    ttlMs,
    durationMs,
    dice: createDice(slice.seed),
    async begin(lane, label, begin, end) {
      faults.push({ band: journal.begin(lane, label), end });
      await begin();
    },
    during: (lane, label, action) => journal.during(lane, label, action),
    async fromNowOn(lane, label, action) {
      journal.begin(lane, label);
      await action();
    },
    async heal() {
      const healed = faults;
      faults = [];
      await Promise.all(healed.map(({ end }) => end()));
      for (const { band } of healed) band.toMs = monotonicMs();
    },
    async last() {
      await Promise.all([pass(durationMs), nextGrant("a lock during the fault")]);
    },
    sleep: pass,
    until,
    nextGrant,
  };
}

async function untilMessage(world: World, isIt: MessageTest, what: string, signal: AbortSignal): Promise<void> {
  const ended = new AbortController();
  const late = sleep(patienceMs, undefined, { signal: AbortSignal.any([signal, ended.signal]) }).then(() => {
    throw new Stuck(`waited ${patienceMs / 1000} s for ${what}`);
  });
  let silence = (): void => {};
  const arrived = new Promise<void>((resolve) => {
    silence = world.listen((message) => {
      if (isIt(message)) resolve();
    });
  });
  try {
    await Promise.race([arrived, late]);
  } finally {
    ended.abort();
    silence();
  }
}
