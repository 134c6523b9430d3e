import { setImmediate as immediate, setTimeout as sleep } from "node:timers/promises";
import type { Dice } from "@holdfast/app-kit/dice";
import { type Lock, LockHeldError, type LockOptions, type Redlock, WaitTimeoutError } from "@holdfast/core";
import { type How, hows, type Report } from "./messages.ts";

/** A program that takes locks until it is told to stop. */
export interface Program {
  readonly name: string;
  readonly redlock: Redlock;
  readonly dice: Dice;
  /** Resolves when the parent has noted the event. */
  report(report: Report): Promise<void>;
}

/** In the global order in which all programs take locks. */
const resources = Array.from({ length: 8 }, (_, index) => `waiting:${index}`);
const resourcesMax = 4;
const nestingMax = 3;
const holdMsMax = 4;
const patienceMsMax = 40;

/** Takes locks, some of them nested, and sometimes gives up. */
export async function run(program: Program, isOver: () => boolean): Promise<void> {
  while (!isOver()) await take(program, drawSets(program.dice));
}

/** Draws the resources of nested locks. Each set comes after the one before it in the global order. */
function drawSets(dice: Dice): string[][] {
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
  const { name, redlock, dice, report } = program;
  const how = dice.one(hows);
  await report({ event: "wants", program: name, resources: set, how });
  const visit = async (lock: Lock): Promise<void> => {
    await report({ event: "entered", program: name, resources: set, fence: lock.fence });
    await pause(dice.integer(0, holdMsMax));
    await take(program, inner);
    await report({ event: "leaves", program: name, resources: set, isValid: lock.remainingMs() > 0 });
  };
  // The label names the program on the servers.
  if (how === "using") await redlock.using(set, { ...unlimited, label: name }, visit);
  else {
    const lock = await acquire(program, set, how);
    if (lock === null) return report({ event: "gaveUp", program: name });
    await visit(lock);
    await lock.release();
  }
  await report({ event: "released", program: name });
}

/** Only a lock ends such a wait. */
const unlimited = { waitTimeoutMs: Infinity } satisfies LockOptions;

async function acquire(program: Program, set: readonly string[], how: How): Promise<Lock | null> {
  const { name: label, redlock, dice } = program;
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
async function acquireUntilAborted({ name: label, redlock, dice }: Program, set: readonly string[]): Promise<Lock> {
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
