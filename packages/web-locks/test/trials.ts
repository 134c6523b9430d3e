/**
 * A program for every runtime: tries each clause, and random programs, with the lock manager of the runtime, if it has
 * one, and with ours. Prints the results as one line of JSON. `pnpm web-locks` runs it.
 */
import { Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { createLockManager } from "@holdfast/web-locks";
import { clauses, type Locks } from "./clauses.ts";
import { isSame, play, scriptOf, specified } from "./script.ts";

/** What one lock manager did. */
export interface Trials {
  /** The facts of the clauses that it does not meet, with the reason. */
  readonly failures: Readonly<Record<string, string>>;
  /** How many random programs there were. */
  readonly programs: number;
  /** The seeds of those that did something else than specified. */
  readonly differing: readonly number[];
}

/** What the lock managers of one runtime did. */
export interface Report {
  readonly ours: Trials;
  /** Absent if the runtime has none. */
  readonly native?: Trials;
}

const programs = 100;
const timeoutMs = 3_000;

async function tryAll(locks: Locks): Promise<Trials> {
  const failures: Record<string, string> = {};
  for (const { fact, trial } of clauses) {
    const reason = await Promise.race([trial(locks, fact).then(() => "", String), afterTimeout()]);
    if (reason !== "") failures[fact] = reason;
  }
  const run = async (seed: number): Promise<boolean> => {
    const script = scriptOf(seed, false);
    return isSame(await play(locks, script, `${seed} `, afterTimeout), specified(script));
  };
  const differing: number[] = [];
  for (let seed = 0; seed < programs; seed++) if (!(await run(seed))) differing.push(seed);
  return { failures, programs, differing };
}

function afterTimeout(): Promise<string> {
  return new Promise((resolve) => setTimeout(resolve, timeoutMs, `did not end within ${timeoutMs} ms`));
}

/** Resolves when everything was tried and printed. */
export const finished: Promise<void> = (async () => {
  const native = (globalThis as { navigator?: { locks?: Locks } }).navigator?.locks;
  const ours = createLockManager(new Redlock([memoryNode(), memoryNode(), memoryNode()]));
  const report: Report = { ours: await tryAll(ours), ...(native && { native: await tryAll(native) }) };
  console.log(JSON.stringify(report));
  (globalThis as { process?: { exit(): void } }).process?.exit(); // a lock that a broken manager keeps must not
})();
