import { setImmediate as immediate, setTimeout as sleep } from "node:timers/promises";
import type { Dice } from "@holdfast/app-kit/dice";
import { type Lock, LockHeldError, type LockOptions, type Redlock, WaitTimeoutError } from "@holdfast/core";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import { believe } from "../client/visit.ts";
import type { Holding } from "../history/visit.ts";

/** A program that takes locks until it is told to stop. */
export interface Program {
  readonly name: string;
  readonly redlock: Redlock;
  readonly dice: Dice;
  /** In the global order in which all programs take locks. */
  readonly resources: readonly string[];
  readonly holdMsMax: number;
  /** A call with a time limit or a signal gives up within this time, in milliseconds. */
  readonly patienceMsMax: number;
  /** What it has done so far. */
  readonly diary: Diary;
}

/** What a program has done, and what it is doing. */
export interface Diary {
  /** The locks that have ended. */
  readonly locks: SoakLock[];
  /** How many calls gave up or were denied. */
  gaveUp: number;
  /** The sets of resources that it holds. */
  readonly held: (readonly string[])[];
  /** Its current step, such as a wait; empty when it has ended. */
  step: string;
  /** When the step began. */
  sinceMs: number;
}

/** A lock that a program held. */
export interface SoakLock extends Holding {
  readonly resources: readonly string[];
  readonly how: How;
  readonly isExtended: boolean;
  /** Whether the program held another lock meanwhile. */
  readonly isNested: boolean;
}

/** All ways to ask for a lock. */
export const hows = ["acquire", "using", "time-out", "abort", "tryAcquire"] as const;

/** A way to ask for a lock. */
export type How = (typeof hows)[number];

const resourcesMax = 4;
const nestingMax = 3;

/** Takes locks, some of them nested, and sometimes gives up. */
export async function run(program: Program, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await take(program, drawSets(program));
    await immediate(); // memory nodes reply without I/O, which would otherwise starve
  }
  begin(program, "");
}

/** Draws the resources of nested locks. Each set comes after the one before it in the global order. */
function drawSets({ dice, resources }: Program): string[][] {
  const sets: string[][] = [];
  const depth = dice.one([1, 1, 1, 2, nestingMax]);
  for (let rest = resources; sets.length < depth && rest.length > 0; ) {
    const left = depth - sets.length;
    const choices = left === 1 ? rest : rest.slice(0, Math.ceil(rest.length / left));
    const set = dice.some(choices, dice.integer(1, Math.min(resourcesMax, choices.length))).sort();
    sets.push(set);
    rest = rest.slice(rest.indexOf(set.at(-1) as string) + 1);
  }
  return sets;
}

async function take(program: Program, [set, ...inner]: readonly string[][]): Promise<void> {
  if (set === undefined) return;
  const { name, redlock, dice, diary } = program;
  const how = dice.one(hows);
  const calledAtMs = begin(program, `waits for ${set} by ${how}`);
  const visit = async (lock: Lock): Promise<void> => {
    const belief = believe(lock);
    const isNested = diary.held.length > 0;
    diary.held.push(set);
    begin(program, "works");
    await pause(dice.integer(0, program.holdMsMax));
    const isExtended = dice.integer(1, 4) === 1;
    if (isExtended) await lock.extend();
    await take(program, inner);
    const { fence } = lock;
    const { grantedAtMs } = belief;
    diary.held.pop();
    diary.locks.push({
      ...{ client: name, resources: set, how, isExtended, isNested, fence },
      ...{ attemptAtMs: calledAtMs, grantedAtMs, ...belief.end() },
    });
    begin(program, `releases ${set}`);
  };
  // The label names the program on the servers.
  if (how === "using") return redlock.using(set, { ...unlimited, label: name }, visit);
  const lock = await acquire(program, set, how);
  if (lock === null) {
    diary.gaveUp += 1;
    return;
  }
  await visit(lock);
  await lock.release();
}

/** Begins a step, and returns the time. */
function begin({ diary }: Program, step: string): number {
  diary.step = step;
  diary.sinceMs = monotonicMs();
  return diary.sinceMs;
}

/** Only a lock ends such a wait. */
const unlimited = { waitTimeoutMs: Infinity } satisfies LockOptions;

async function acquire(program: Program, set: readonly string[], how: How): Promise<Lock | null> {
  const { name: label, redlock, dice, patienceMsMax } = program;
  if (how === "tryAcquire") return redlock.tryAcquire(set, { label });
  if (how === "acquire") return redlock.acquire(set, { ...unlimited, label });
  try {
    if (how === "abort") return await acquireUntilAborted(program, set);
    return await redlock.acquire(set, { waitTimeoutMs: dice.integer(0, patienceMsMax), label });
  } catch (error) {
    if (error === changedMind || error instanceof WaitTimeoutError || error instanceof LockHeldError) return null;
    throw error;
  }
}

const changedMind = new Error("the program has changed its mind");

/** The signal aborts at a random moment: before the call waits, while it waits, or when it has its lock. */
async function acquireUntilAborted(program: Program, set: readonly string[]): Promise<Lock> {
  const { name: label, redlock, dice, patienceMsMax } = program;
  const mind = new AbortController();
  const lock = redlock.acquire(set, { ...unlimited, label, signal: mind.signal });
  lock.catch(() => {}); // until it is awaited
  for (let turns = dice.integer(0, 12); turns > 0; turns--) await null;
  await pause(dice.integer(0, patienceMsMax));
  mind.abort(changedMind);
  return lock;
}

/** Sleeps; 0 is the next turn of the event loop. */
async function pause(ms: number): Promise<void> {
  await (ms === 0 ? immediate() : sleep(ms));
}
