import type { Checker } from "./check/checkers.ts";
import type { Fault } from "./scenario/fault.ts";
import {
  complete,
  type FullScenario,
  mapOperations,
  type Operation,
  operationsOf,
  type Scenario,
} from "./scenario/scenario.ts";
import { type SimulateOptions, simulateUnchecked } from "./simulate.ts";

/** One thing that a scenario can be tried without: a fault, or an operation of a worker. */
type Part = { readonly fault: Fault } | { readonly operation: Operation };

/** So many simulations are made at the most to shrink one, and so much may happen in all of them together. */
const mostTrials = 1000;
const mostEvents = 10_000_000;

/**
 * Leaves out of a scenario all faults and operations without which the same checker still finds something (Zeller,
 * "Yesterday, my program worked. Today, it does not. Why?", delta debugging), and updates once where that is enough.
 *
 * @returns the smaller scenario; the same one if the checker finds nothing in it
 */
export async function shrink(scenario: Scenario, checker: Checker, options?: SimulateOptions): Promise<Scenario> {
  const full = complete(scenario);
  let [trials, events] = [0, 0];
  const fails = async (smaller: FullScenario): Promise<boolean> => {
    trials += 1;
    const run = await simulateUnchecked(smaller, options);
    events += run.events;
    return run.violations.some((violation) => violation.checker === checker);
  };
  let parts = partsOf(full);
  if (!(await fails(full))) return scenario;
  for (let pieces = 2; parts.length > 1 && trials < mostTrials && events < mostEvents; ) {
    const rest = await firstThatFails(withoutOnePiece(parts, pieces), (some) => fails(withParts(full, some)));
    if (rest !== undefined) {
      parts = rest;
      pieces = Math.max(2, pieces - 1);
    } else if (pieces === parts.length) break;
    else pieces = Math.min(parts.length, 2 * pieces);
  }
  let small = withParts(full, parts);
  for (const operation of operationsOf(small.clients)) {
    const { updates = 1 } = operation;
    const simpler = withOneUpdate(small, operation);
    if (updates > 1 && (await fails(simpler))) small = simpler;
  }
  return small;
}

async function firstThatFails(
  candidates: Iterable<Part[]>,
  fails: (parts: readonly Part[]) => Promise<boolean>,
): Promise<Part[] | undefined> {
  for (const candidate of candidates) if (await fails(candidate)) return candidate;
  return undefined;
}

function* withoutOnePiece(parts: readonly Part[], pieces: number): Iterable<Part[]> {
  const size = Math.ceil(parts.length / pieces);
  for (let from = 0; from < parts.length; from += size) {
    yield [...parts.slice(0, from), ...parts.slice(from + size)];
  }
}

function partsOf({ clients, faults }: FullScenario): Part[] {
  const operations = operationsOf(clients).map((operation): Part => ({ operation }));
  return [...faults.map((fault): Part => ({ fault })), ...operations];
}

/** The scenario with only these parts; clients that have nothing left to do are gone. */
function withParts(scenario: FullScenario, parts: readonly Part[]): FullScenario {
  const kept = new Set(parts.map((part) => ("fault" in part ? part.fault : part.operation)));
  const keep = (operation: Operation): Operation | undefined => (kept.has(operation) ? operation : undefined);
  const clients = scenario.clients.map((client) => ({
    ...client,
    workers: client.workers.map((list) => mapOperations(list, keep)).filter((list) => list.length > 0),
  }));
  return {
    ...scenario,
    faults: scenario.faults.filter((fault) => kept.has(fault)),
    clients: clients.filter(({ workers }) => workers.length > 0),
  };
}

/** The scenario with an operation that updates only once. */
function withOneUpdate(scenario: FullScenario, longer: Operation): FullScenario {
  const shorten = (operation: Operation): Operation =>
    operation === longer ? { ...operation, updates: 1 } : operation;
  const clients = scenario.clients.map((client) => ({
    ...client,
    workers: client.workers.map((operations) => mapOperations(operations, shorten)),
  }));
  return { ...scenario, clients };
}
