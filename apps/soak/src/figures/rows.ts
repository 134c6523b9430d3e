import { createDice } from "@holdfast/app-kit/dice";
import type { Client, Crowd, Figures, Order, ProcessPlan } from "./plan.ts";

/** A row of the table. */
export interface Row {
  readonly what: string;
  /** Reads the value from what was measured. */
  value(figures: Figures): number;
  readonly unit: string;
  readonly digits?: number;
}

/** A measurement, and its rows. */
export interface Topic {
  /** The letter for `--only`. */
  readonly letter: string;
  readonly order: Order;
  readonly over: readonly Place[];
  readonly rows: readonly Row[];
}

/** The kind of nodes. */
export type Place = "memory" | "servers";

const everywhere = ["memory", "servers"] as const;

/** All measurements. */
export const topics: readonly Topic[] = [
  ...[1, 2, 3].map(starvation),
  ...(["sets", "time-outs", "aborts", "release"] as const).map(stall),
  tries(10_000, "as by default"),
  tries(200_000, "with maxWaiters 200,000"),
  {
    letter: "d",
    order: { measure: "pauses" },
    over: everywhere,
    rows: [
      row(
        "acquires, of 30, in which a healthy node failed: process stalled 10–500 ms before the reply",
        "acquires",
        "",
      ),
      row("releases, of 30, the same", "releases", ""),
    ],
  },
  {
    letter: "e",
    order: { measure: "hang", ms: 12_000 },
    over: ["servers"],
    rows: [
      row("servers hang for 12 s, 200 workers: first lock after their return", "first", "ms"),
      row("… memory in use at the end of the hang, against before", "owed", "MB", 1),
      row("… process at its peak, against before (RSS)", "peak", "MB"),
      row("… memory in use 4 s after their return, against before", "after", "MB", 1),
    ],
  },
  beside("5 listening, 1 deaf", { processes: 1, client: "listening" }, { workers: 1, client: "deaf" }, everywhere),
  beside("3 × 5 listening, 5 deaf", { processes: 3, client: "listening" }, { workers: 5, client: "deaf" }, everywhere),
  beside("5 listening, 1 other library", { processes: 1, client: "listening" }, { workers: 1, client: "other" }),
  beside("5 other library, 1 listening", { processes: 1, client: "other" }, { workers: 1, client: "listening" }),
  mixture(1),
  mixture(4),
];

function row(what: string, key: string, unit: string, digits = 0): Row {
  return { what, unit, digits, value: (figures) => figures[key] ?? Number.NaN };
}

function starvation(processes: number): Topic {
  const a = { name: "a", workers: 5, resources: ["a"] };
  const b = { name: "b", workers: 5, resources: ["b"] };
  const both = { name: "both", workers: 1, resources: ["a", "b"] };
  const parties = [[[a, b, both]], [[a, b], [both]], [[a], [b], [both]]][processes - 1] ?? [];
  const plans: ProcessPlan[] = parties.map((some) => ({ client: "listening", parties: some }));
  const share = (figures: Figures): number =>
    (50 * (figures["both locks"] ?? Number.NaN)) / ((figures["a locks"] ?? 0) + (figures["b locks"] ?? 0));
  return {
    letter: "a",
    order: { measure: "contention", plans, ms: 4_000 },
    over: everywhere,
    rows: [
      {
        what: `5 want a, 5 want b, 1 wants both, ${processes} processes: its locks per 50 of the others`,
        unit: "",
        digits: 1,
        value: share,
      },
      row("… its longest wait", "both longest", "ms"),
    ],
  };
}

function stall(crowd: Crowd): Topic {
  const what = {
    sets: "1,000 wait for {a,b,c}, then 1,000 for {a,b}; a is released",
    "time-outs": "10,000 wait for {hot, own}, and time out together",
    aborts: "10,000 wait for {hot, own}, and one signal aborts",
    release: "10,000 wait for {hot, own}; hot is released",
  }[crowd];
  return {
    letter: "b",
    order: { measure: "stall", crowd },
    over: everywhere,
    rows: [
      row(`${what}: longest stall`, "stall", "ms"),
      row("… another lock, with a ttl of 1 s, was lost (1 is yes)", "lost", ""),
    ],
  };
}

function tries(maxWaiters: number, how: string): Topic {
  return {
    letter: "c",
    order: { measure: "tries", maxWaiters },
    over: everywhere,
    rows: [
      row(`120,000 tryAcquire at once, ${how}: time for each`, "each", "µs", 1),
      row("… calls that are refused", "refused", ""),
      row("… a release in the midst of them took", "release", "ms"),
    ],
  };
}

interface Many {
  readonly processes: number;
  readonly client: Client;
}

interface Few {
  readonly workers: number;
  readonly client: Client;
}

/** Five workers in each of the processes, and some others. All want the same resource. */
function beside(what: string, many: Many, few: Few, over: readonly Place[] = ["servers"]): Topic {
  const plans: ProcessPlan[] = Array.from({ length: many.processes }, (_, index) => ({
    client: many.client,
    parties: [{ name: `many${index}`, workers: 5, resources: ["r"] }],
  }));
  plans.push({ client: few.client, parties: [{ name: "few", workers: few.workers, resources: ["r"] }] });
  const ofMany = (figures: Figures, key: string): number[] =>
    plans.slice(0, -1).map((_, index) => figures[`many${index} ${key}`] ?? Number.NaN);
  const seconds = 5;
  return {
    letter: "f",
    order: { measure: "contention", plans, ms: seconds * 1_000 },
    over,
    rows: [
      {
        what: `${what}: locks of the first in a second`,
        unit: "",
        value: (figures) => ofMany(figures, "locks").reduce((sum, locks) => sum + locks, 0) / seconds,
      },
      {
        what: "… of the second",
        unit: "",
        digits: 1,
        value: (figures) => (figures["few locks"] ?? Number.NaN) / seconds,
      },
      { what: "… longest wait of the first", unit: "ms", value: (figures) => Math.max(...ofMany(figures, "longest")) },
      row("… longest wait of the second", "few longest", "ms"),
    ],
  };
}

/** Twelve workers in each process. Each wants one to four of eight resources, always the same ones. */
function mixture(processes: number): Topic {
  const dice = createDice(1);
  const all = Array.from({ length: 8 }, (_, index) => `m${index}`);
  const plans: ProcessPlan[] = Array.from({ length: processes }, (_, process) => ({
    client: "listening",
    parties: Array.from({ length: 12 }, (_, worker) => {
      return { name: `${process}.${worker}`, workers: 1, resources: dice.some(all, dice.integer(1, 4)) };
    }),
  }));
  const names = plans.flatMap(({ parties }) => parties.map(({ name }) => name));
  const read = (figures: Figures, key: string): number[] =>
    names.map((name) => figures[`${name} ${key}`] ?? Number.NaN);
  const seconds = 4;
  return {
    letter: "g",
    order: { measure: "contention", plans, ms: seconds * 1_000 },
    over: everywhere,
    rows: [
      {
        what: `${processes * 12} workers in ${processes} processes want 1–4 of 8 resources: locks in a second`,
        unit: "",
        value: (figures) => read(figures, "locks").reduce((sum, locks) => sum + locks, 0) / seconds,
      },
      { what: "… longest wait", unit: "ms", value: (figures) => Math.max(...read(figures, "longest")) },
    ],
  };
}
