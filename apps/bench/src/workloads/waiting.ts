/** Waiting where it is hard: see docs/benchmark/waiting.md. */
import { createDice } from "@holdfast/app-kit/dice";
import { holdfastIoredis, inMemory } from "../contenders/index.ts";
import type { Figures } from "../measure/measures.ts";
import type { ContendOutcome, WaitOrder } from "../process/calls.ts";
import { figuresOf } from "./contended.ts";
import { type Cell, callTimeoutMs, type SliceContext, type Workload } from "./workload.ts";

const servers = 5;
const holdMs = 5;
/** A measurement that takes longer counts as endless. */
const limitMs = 90_000;

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

const contestColumns = ["locksPerSecond", "waitMaxMs"] as const;
const guestColumns = ["guestLocksPerSecond", "guestLocksPer50", "guestWaitMaxMs"] as const;
const everywhere = { contenders: [inMemory, holdfastIoredis], quickContenders: [inMemory.name], isCold: true };
const overServers = { contenders: [holdfastIoredis], quickContenders: [holdfastIoredis.name], isCold: true };

const deaf = (own: string): string => `${own}, deaf`;
const other = (): string => "redlock 5 beta, patient";
/** Holdfast puts its own prefix before a key. */
const [ours, others] = [["r"], ["lock:r"]];

/** All workloads for waiting, in the order of their page. */
export const waitingWorkloads: readonly Workload[] = [
  {
    ...{ ...everywhere, name: "one-of-both", title: "One waiter for a and b, while others want a or b" },
    description: "Five workers want a, five want b, and a guest wants both, in so many processes.",
    ...contests([...contestColumns, ...guestColumns], {
      "1 process": starvation(1),
      "2 processes": starvation(2),
      "3 processes": starvation(3),
    }),
  },
  {
    ...{ ...everywhere, name: "crowds", title: "Crowds" },
    description: "A second `Redlock` in the process holds a lock with a ttl of a second, extended automatically.",
    ...measurements(["stallMaxMs", "lostLocks"], {
      "1,000 wait for {a,b,c}, then 1,000 for {a,b}; a is released": { what: "stall", crowd: "sets" },
      "10,000 wait for {hot, own}, and time out together": { what: "stall", crowd: "time-outs" },
      "10,000 wait for {hot, own}, and one signal aborts": { what: "stall", crowd: "aborts" },
      "10,000 wait for {hot, own}; hot is released": { what: "stall", crowd: "release" },
    }),
  },
  {
    ...{ ...everywhere, name: "tries", title: "Many tries at once" },
    description: "120,000 calls of `tryAcquire` in one tick, while another lock is released.",
    ...measurements(["tryUs", "refused", "releaseMs"], {
      "as by default": { what: "tries", maxWaiters: 10_000 },
      "maxWaiters 200,000": { what: "tries", maxWaiters: 200_000 },
    }),
  },
  {
    ...{ ...everywhere, name: "pauses", title: "A process that stands still" },
    description:
      "The process stalls for 10 to 500 ms between a call and its reply, 30 times; the node timeout is 50 ms.",
    ...measurements(["failedAcquires", "failedReleases"], { "30 calls": { what: "pauses" } }),
  },
  {
    ...{ ...overServers, name: "hang", title: "Servers that hang" },
    description: "All servers stop (SIGSTOP) for twelve seconds while 200 workers ask for locks of their own.",
    ...measurements(["firstLockMs", "owedMb", "peakMb", "afterMb"], { "200 workers": { what: "hang", ms: 12_000 } }),
  },
  {
    ...{ ...everywhere, name: "deaf", title: "Clients that do not listen" },
    description: "All workers want one lock. The guests have `wakeUps: false`.",
    ...contests([...contestColumns, ...guestColumns], {
      "5 listening, 1 deaf": beside(1, { parties: [guests(1, ours)], contender: deaf }),
      "3 × 5 listening, 5 deaf": beside(3, { parties: [guests(5, ours)], contender: deaf }),
    }),
  },
  {
    ...{ ...overServers, name: "other-library", title: "Another library" },
    description: "All workers want one lock. The guest is the single one. redlock 5 retries as by default, forever.",
    ...contests([...contestColumns, ...guestColumns], {
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
    ...contests(contestColumns, { "1 process": mixture(1), "4 processes": mixture(4) }),
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

function contests(
  columns: Workload["columns"],
  cells: Readonly<Record<string, readonly Group[]>>,
): Pick<Workload, "columns" | "cells" | "estimateMs"> {
  return {
    columns: [...columns, "failed"],
    cells: Object.entries(cells).map(([name, groups], index) =>
      cellOf(name, index === 0, (context) => contest(context, groups)),
    ),
    estimateMs: ({ contestMs }) => contestMs + 1_500,
  };
}

function measurements(
  columns: Workload["columns"],
  cells: Readonly<Record<string, WaitOrder>>,
): Pick<Workload, "columns" | "cells" | "estimateMs"> {
  return {
    columns,
    cells: Object.entries(cells).map(([name, order], index) =>
      cellOf(name, index === 0, (context) => measureAlone(context, order)),
    ),
    estimateMs: () => 8_000,
  };
}

function cellOf(name: string, isQuick: boolean, measure: Cell["measure"]): Cell {
  return { name, servers, atATime: 1, isQuick, measure };
}

async function contest(context: SliceContext, groups: readonly Group[]): Promise<Figures> {
  const { contender, scale, keyPrefix } = context;
  const isOneProcess = contender.store === "memory";
  const ports = await context.servers.ports(servers);
  const places = groups.map((group, index) => ({
    ...{ group, client: isOneProcess ? index : 0, process: context.process(isOneProcess ? 0 : index) },
  }));
  for (const { group, client, process } of places) {
    const name = group.contender?.(contender.name) ?? contender.name;
    const request = { contender: name, addresses: ports, isPatient: false, client };
    await process.call("open", callTimeoutMs, request);
  }
  const durationMs = scale.contestMs;
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

async function measureAlone(context: SliceContext, order: WaitOrder): Promise<Figures> {
  const isInMemory = context.contender.store === "memory";
  const targets = isInMemory ? [] : await context.servers.targets(servers);
  const measured = context.process(0);
  try {
    return await measured.call("wait", limitMs, order, targets);
  } finally {
    measured.kill();
    for (const { pid } of targets) process.kill(pid, "SIGCONT");
  }
}
