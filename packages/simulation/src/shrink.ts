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

/** A part that a scenario can be tried without: a fault, or an operation of a worker. */
type Part = { readonly fault: Fault } | { readonly operation: Operation };

/** Limits of one shrinking: the number of simulations, and of events in all of them together, which take some 20 s. */
const mostTrials = 1000;
const mostEvents = 2_000_000;

/**
 * Removes all faults and operations from a scenario that the checker does not need to find a violation (delta
 * debugging: Zeller, "Yesterday, my program worked. Today, it does not. Why?"), and reduces operations to one update if
 * one is enough.
 *
 * @param scenario a scenario in which the checker finds a violation
 * @param checker the checker
 * @param options as in the run
 * @returns the smaller scenario, or the same scenario if the checker finds nothing in it
 *
 * @example
 * ```ts
 * import { drawScenario, shrink, simulate } from "@holdfast/simulation";
 *
 * const scenario = drawScenario("lock-breaking", 1);
 * const [violation] = (await simulate(scenario)).violations;
 * if (violation !== undefined) console.log(await shrink(scenario, violation.checker));
 * ```
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

/** Returns the scenario with only these parts, without clients that have nothing left to do. */
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

/** Returns the scenario with this operation reduced to one update. */
function withOneUpdate(scenario: FullScenario, longer: Operation): FullScenario {
  const shorten = (operation: Operation): Operation =>
    operation === longer ? { ...operation, updates: 1 } : operation;
  const clients = scenario.clients.map((client) => ({
    ...client,
    workers: client.workers.map((operations) => mapOperations(operations, shorten)),
  }));
  return { ...scenario, clients };
}
