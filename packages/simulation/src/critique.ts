import type { Fault } from "./scenario/fault.ts";
import type { Operation, Scenario } from "./scenario/scenario.ts";

const ttlMs = 1000;

/** Returns an operation that locks, reads, thinks for a while and writes. */
function update(afterMs: number, thinkMs: number): Operation {
  return { by: "acquire", resources: ["file"], afterMs, thinkMs };
}

/** Returns a scenario of two clients with one operation each. */
function two(first: Operation, second: Operation, faults: readonly Fault[]): Scenario {
  const clients = [
    { name: "client 1", workers: [[first]] },
    { name: "client 2", workers: [[second]] },
  ];
  return { clients, faults, settings: { ttlMs, latencyMs: [2, 2] } };
}

/** Client 1 reaches only A, B and C, and client 2 only C, D and E: exclusion depends on C. */
const onlyNodeCInCommon: readonly Fault[] = [
  { kind: "partition", clients: ["client 1"], nodes: ["D", "E"], part: "both", atMs: 0, forMs: 2000 },
  { kind: "partition", clients: ["client 2"], nodes: ["A", "B"], part: "both", atMs: 0, forMs: 2000 },
];

/** The names of the cases. */
export type CritiqueName =
  | "node clock"
  | "node restart"
  | "pause before replies"
  | "pause before writing"
  | "late write"
  | "late write between"
  | "late claim";

/**
 * The failures of Redlock that Martin Kleppmann's "How to do distributed locking" (2016) describes, each as a scenario.
 * `docs/generated/critique.md` tells their stories, and shows what each run violates and loses.
 *
 * @example
 * ```ts
 * import { critiqueScenarios, simulate } from "@holdfast/simulation";
 *
 * const { violations } = await simulate(critiqueScenarios["pause before writing"]);
 * console.log(violations.map(({ checker }) => checker)); // ["mutual exclusion"]
 * ```
 */
export const critiqueScenarios: Readonly<Record<CritiqueName, Scenario>> = {
  "node clock": two(update(0, 300), update(50, 100), [
    ...onlyNodeCInCommon,
    { kind: "clock jump", of: "C", atMs: 30, byMs: ttlMs },
  ]),
  "node restart": two(update(0, 300), update(50, 100), [
    ...onlyNodeCInCommon,
    { kind: "node crash", node: "C", atMs: 30, forMs: 1, memory: "lost", isSilent: false },
  ]),
  "pause before replies": two(update(0, 300), update(50, 300), [
    { kind: "pause", client: "client 1", atMs: 3, forMs: 1300, step: 0 },
  ]),
  "pause before writing": two(update(0, 100), update(50, 100), [
    { kind: "pause before acting", client: "client 1", atMs: 50, forMs: 2000 },
  ]),
  "late write": two(update(0, 100), update(50, 100), [
    { kind: "late access", client: "client 1", access: 2, byMs: 2000 },
  ]),
  "late write between": two(update(0, 100), update(50, 800), [
    { kind: "late access", client: "client 1", access: 2, byMs: 1500 },
  ]),
  "late claim": two({ ...update(0, 300), by: "tryAcquire" }, update(900, 500), [
    { kind: "late message", client: "client 1", node: "C", message: 1, part: "request", byMs: 1200 },
    { kind: "late message", client: "client 1", node: "D", message: 1, part: "request", byMs: 1700 },
    { kind: "late message", client: "client 1", node: "E", message: 1, part: "request", byMs: 1700 },
  ]),
};
