/** Waiting where it is hard: see docs/benchmark/waiting.md. */
import { createDice } from "@holdfast/app-kit/dice";
import { holdfastIoredis, inMemory } from "../contenders/index.ts";
import type { Figures } from "../measure/measures.ts";
import type { ContendOutcome } from "../process/contend.ts";
import type { Scale } from "../scale.ts";
import { figuresOf } from "./contended.ts";
import { type Cell, callTimeoutMs, type SliceContext, type Workload } from "./workload.ts";

const servers = 5;
const holdMs = 5;

/** Workers that want the same keys. */
interface Party {
  readonly keys: readonly string[];
  readonly workers: number;
  /** Whether its figures stand for themselves. */
  readonly isGuest?: boolean;
}

/** The parties of one process. Over memory nodes, it is one of several clients in the same process. */
interface Group {
  readonly parties: readonly Party[];
  /** What its contender is called, if not that of the slice. */
  contender?(own: string): string;
}

const contests = {
  columns: ["locksPerSecond", "waitMaxMs", "failed"],
  roundsMax: 1,
  estimateMs: (scale: Scale) => durationMsOf(scale) + 1_500,
} as const;
const contestsWithGuests = {
  ...contests,
  columns: ["locksPerSecond", "waitMaxMs", "guestLocksPerSecond", "guestLocksPer50", "guestWaitMaxMs", "failed"],
} as const;
const everywhere = { contenders: [inMemory, holdfastIoredis], quickContenders: [inMemory.name], isCold: true };
const overServers = { contenders: [holdfastIoredis], quickContenders: [holdfastIoredis.name], isCold: true };

const deaf = (own: string): string => `${own}, deaf`;
const other = (): string => "redlock 5 beta, patient";
/** Holdfast puts its own prefix before a key. */
const [ours, others] = [["r"], ["lock:r"]];

/** All workloads for waiting. */
export const waiting: readonly Workload[] = [
  {
    ...{ ...everywhere, name: "one-of-both", title: "One waiter for a and b, while others want a or b" },
    description: "Five workers want a, five want b, and a guest wants both, in so many processes.",
    ...contestsWithGuests,
    cells: cellsOf({ "1 process": starvation(1), "2 processes": starvation(2), "3 processes": starvation(3) }),
  },
  {
    ...{ ...everywhere, name: "deaf", title: "Clients that do not listen" },
    description: "All workers want one lock. The guests have `wakeUps: false`.",
    ...contestsWithGuests,
    cells: cellsOf({
      "5 listening, 1 deaf": beside(1, { parties: [guests(1, ours)], contender: deaf }),
      "3 × 5 listening, 5 deaf": beside(3, { parties: [guests(5, ours)], contender: deaf }),
    }),
  },
  {
    ...{ ...overServers, name: "other-library", title: "Another library" },
    description: "All workers want one lock. The guest is the single one. redlock 5 retries as by default, forever.",
    ...contestsWithGuests,
    cells: cellsOf({
      "5 listening, 1 of redlock 5": beside(1, { parties: [guests(1, others)], contender: other }),
      "5 of redlock 5, 1 listening": [
        { parties: [{ keys: others, workers: 5 }], contender: other },
        { parties: [guests(1, ours)] },
      ],
    }),
  },
  {
    ...{ ...everywhere, name: "mixed-sets", title: "Mixed sets" },
    description: "Twelve workers in each process want one to four of eight resources each, always the same ones.",
    ...contests,
    cells: cellsOf({ "1 process": mixture(1), "4 processes": mixture(4) }),
  },
];

/** Five want `a`, five want `b`, and one wants both, in so many processes. */
function starvation(processes: 1 | 2 | 3): Group[] {
  const [a, b] = [
    { keys: ["a"], workers: 5 },
    { keys: ["b"], workers: 5 },
  ];
  const both = guests(1, ["a", "b"]);
  const parties = { 1: [[a, b, both]], 2: [[a, b], [both]], 3: [[a], [b], [both]] }[processes];
  return parties.map((some) => ({ parties: some }));
}

function guests(workers: number, keys: readonly string[]): Party {
  return { keys, workers, isGuest: true };
}

/** Five workers in each of the processes, and some others. All want the same key. */
function beside(processes: number, group: Group): Group[] {
  return [...Array.from({ length: processes }, () => ({ parties: [{ keys: ours, workers: 5 }] })), group];
}

/** Twelve workers in each process. Each wants one to four of eight keys, always the same ones. */
function mixture(processes: number): Group[] {
  const dice = createDice(1);
  const all = Array.from({ length: 8 }, (_, index) => `m${index}`);
  return Array.from({ length: processes }, () => ({
    parties: Array.from({ length: 12 }, () => ({ keys: dice.some(all, dice.integer(1, 4)), workers: 1 })),
  }));
}

/** One long contest, in which a wait of seconds shows. */
function durationMsOf({ contestMs }: Scale): number {
  return 2.5 * contestMs;
}

/** The first cell is that of quick runs. */
function cellsOf(contests: Readonly<Record<string, readonly Group[]>>): Cell[] {
  return Object.entries(contests).map(([name, groups], index) => {
    return { ...{ name, servers, atATime: 1, isQuick: index === 0 }, measure: (context) => measure(groups, context) };
  });
}

async function measure(groups: readonly Group[], context: SliceContext): Promise<Figures> {
  const { contender, scale, keyPrefix } = context;
  const isOneProcess = contender.store === "memory";
  const { addresses } = await context.servers.at(servers);
  const places = groups.map((group, index) => ({
    ...{ group, client: isOneProcess ? index : 0, process: context.process(isOneProcess ? 0 : index) },
  }));
  for (const { group, client, process } of places) {
    const name = group.contender?.(contender.name) ?? contender.name;
    const request = { contender: name, addresses, isPatient: false, client };
    await process.call("open", callTimeoutMs, request);
  }
  const durationMs = durationMsOf(scale);
  const calls = places.flatMap(({ group, client, process }) =>
    group.parties.map(async (party) => {
      const keys = party.keys.map((key) => `${key}:${keyPrefix}`);
      const request = { client, keys, workers: party.workers, holdMs, durationMs };
      return { party, outcome: await process.call("contend", durationMs + callTimeoutMs, request) };
    }),
  );
  const results = await Promise.all(calls);
  for (const { process } of places) process.kill();
  const of = (isGuest: boolean): ContendOutcome[] =>
    results.filter(({ party }) => (party.isGuest ?? false) === isGuest).map(({ outcome }) => outcome);
  const { locksPerSecond, waitMaxMs } = figuresOf(of(false));
  const guest = figuresOf(of(true));
  return {
    ...{ locksPerSecond, waitMaxMs, failed: figuresOf(results.map(({ outcome }) => outcome)).failed },
    guestLocksPerSecond: guest.locksPerSecond,
    guestLocksPer50: (50 * guest.locksPerSecond) / locksPerSecond,
    guestWaitMaxMs: guest.waitMaxMs,
  };
}
