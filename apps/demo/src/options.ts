import { type Command, type Given, readCommand } from "@holdfast/app-kit/program";

/** The counter of the sleeper in the database, and the lock of the same name. */
export const ledger = {
  name: "ledger",
  /** Whether the database checks fencing tokens. If not, only the lock protects the counter. */
  fenced: true,
  /** The relative frequency of visits. */
  weight: 3,
  /** The usual shortest and longest time between read and write, in milliseconds. */
  dwellMs: { min: 40, max: 160 },
  /** The share of visits that outlast the ttl and need an extension. */
  longShare: 0,
};

/** A counter, and the lock of the same name. */
export type Resource = Readonly<typeof ledger>;

export const resources: readonly Resource[] = [
  { name: "orders", fenced: false, weight: 3, dwellMs: { min: 10, max: 80 }, longShare: 0 },
  { name: "stock", fenced: false, weight: 3, dwellMs: { min: 40, max: 160 }, longShare: 0 },
  { name: "report", fenced: false, weight: 1, dwellMs: { min: 40, max: 160 }, longShare: 0.2 },
  ledger,
];
export const nodeNames: readonly string[] = ["n1", "n2", "n3", "n4", "n5"];
/** The worker that is paused past its ttl. */
export const sleeper = "sleeper";

/** The parameters of a run. */
export type Setup = ReturnType<typeof setupOf>;

const help = `Shows a distributed lock at work, and checks that it keeps what it promises.

Usage: pnpm demo [options]

  --redis        five real redis-servers and worker processes, instead of memory nodes in one process
  --seconds N    how long, from 5 to 600 (default 20)
  --workers N    how many workers, from 2 to 32 (default 6)
  --break        runs without locks, to show that the checks catch it
  --help         prints this

Exit code: 0 when every check holds, 1 when something was violated, 2 when it could not run.
`;

/** Reads the command line. */
export function parseCommand(args: readonly string[]): Command<Setup> {
  return readCommand(help, args, setupOf);
}

function setupOf({ flag, integer }: Given) {
  const seconds = integer("seconds", 20, 5, 600);
  const length = integer("workers", 6, 2, 32);
  // Short enough for a pause past the ttl, long enough for a busy machine.
  const ttlMs = Math.min(2000, Math.max(1000, seconds * 100));
  return {
    /** Whether to use real servers and worker processes, instead of memory nodes in this process. */
    redis: flag("redis"),
    /** Whether the workers lock. */
    locked: !flag("break"),
    seconds,
    workers: Array.from({ length }, (_, index) => `w${index + 1}`),
    /** The options of every `Redlock`. A worker that has waited for `waitTimeoutMs` goes elsewhere. */
    redlock: { ttlMs, nodeTimeoutMs: ttlMs / 5, waitTimeoutMs: ttlMs / 2 },
  };
}
