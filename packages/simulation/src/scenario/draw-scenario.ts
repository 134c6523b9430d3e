import { Dice } from "./dice.ts";
import { drawFaults, longestSlipMs } from "./draw-faults.ts";
import { drawMembership, drawSteadyWorkers } from "./draw-membership.ts";
import { drawApart, drawNeighbours, neighbourCounters } from "./draw-neighbours.ts";
import { drawBusyWorkers, drawOrder, drawPrograms, drawStorm, type Workers } from "./draw-programs.ts";
import { drawReaders, drawSharing, withModes } from "./draw-sharing.ts";
import { type FaultClassName, faultClasses } from "./fault-classes.ts";
import {
  complete,
  longestTtlMs,
  nodeNames,
  type Operation,
  operatorName,
  quorumOf,
  resourcesOf,
  type Scenario,
  type ScenarioClient,
} from "./scenario.ts";

/**
 * Draws the scenario of a seed: what the clients do, and which faults of the class strike.
 *
 * @param faults the class of faults
 * @param seed a whole number
 * @throws {RangeError} if there is no such class
 *
 * @example
 * ```ts
 * import { drawScenario } from "@holdfast/simulation";
 *
 * const { nodes, clients, faults } = drawScenario("survivable", 7);
 * console.log(nodes, clients.length, faults);
 * ```
 */
export function drawScenario(faults: FaultClassName, seed: number): Scenario {
  if (!Object.hasOwn(faultClasses, faults)) {
    throw new RangeError(`faults must be ${Object.keys(faultClasses).join(", ")}, not ${JSON.stringify(faults)}`);
  }
  const dice = new Dice(seed).fork(faults);
  const { isChanging = false, hazards } = faultClasses[faults];
  const isHealing = hazards.includes("empty restart");
  const few = dice.pick([1, 2, 3, 3, 3, 3, 3, 4, 5, 5]);
  const ttlMs = dice.pick([200, 500, 1000, 3000]);
  const membership = isChanging ? drawMembership(dice.fork("membership"), ttlMs) : undefined;
  const isNeighbourly = !(isChanging || isHealing) && dice.fork("next door").chance(0.05);
  const nodes = isNeighbourly ? 3 : membership === undefined ? few : 10;
  const isSteady = isChanging || (isHealing && dice.fork("steady").chance(0.7));
  const horizonMs = (isChanging ? 12 : isHealing ? 6 : 4) * ttlMs;
  const { clients, isFaultless, isReading } = isNeighbourly
    ? { clients: drawNeighbours(dice.fork("neighbours"), ttlMs), isFaultless: false, isReading: false }
    : drawWork(dice, ttlMs, isSteady);
  const settings = {
    ...drawSettings(dice.fork("settings"), ttlMs, isReading || isChanging || isHealing ? undefined : nodes),
    unwatchable: drawUnwatchable(dice.fork("unwatchable"), nodeNames(nodes)),
    counters: isNeighbourly ? neighbourCounters : drawCounters(dice.fork("counters"), clients),
    calmAfterMs: horizonMs,
  };
  const scenario = complete({ seed, nodes, clients, settings, membership });
  if (isFaultless && faultClasses[faults].hazards.length === 0) return scenario;
  const outline = {
    ...{ nodes: membership === undefined ? nodeNames(nodes) : [...new Set(membership.sets.flat())], isChanging },
    clients: [...clients.map(({ name }) => name), ...(isChanging || isHealing ? [operatorName] : [])],
    ...{
      settings: scenario.settings,
      minority: nodes - quorumOf(nodes, scenario.settings),
      horizonMs,
      longestTtlMs: longestTtlMs(scenario),
    },
  };
  const struck = drawFaults(dice.fork("faults"), faultClasses[faults], outline);
  return {
    ...scenario,
    faults: isNeighbourly ? [...struck, ...drawApart(dice.fork("apart"), outline, struck)] : struck,
  };
}

/** What the clients do, and whether the world has no faults: waiters are then promised more. */
interface Work {
  readonly clients: readonly ScenarioClient[];
  readonly isFaultless: boolean;
  /** Whether readers follow each other without a gap. */
  readonly isReading: boolean;
}

/**
 * Draws what the clients do: mixed operations in most worlds; programs, crowds, storms and readers that test waiting in
 * others. In some worlds of each kind, clients share locks.
 */
function drawWork(dice: Dice, ttlMs: number, isSteady: boolean): Work {
  const kind = dice.fork("kind").next();
  const few = dice.pick([2, 2, 3, 4]);
  const contention = drawContention(dice.fork("waiters"));
  const order = drawOrder(dice.fork("order"));
  const sharing = drawSharing(dice.fork("sharing"));
  const drawWorkersOf = (name: string): Workers => {
    const own = dice.fork(name);
    if (isSteady) return drawSteadyWorkers(own, ttlMs);
    if (sharing.isReading) return drawReaders(own, ttlMs);
    if (kind < 0.01) return name === "client 1" ? drawStorm(own, ttlMs) : drawPrograms(own, ttlMs, order);
    if (kind < 0.05) return drawBusyWorkers(own, ttlMs, order);
    if (kind < 0.25) return drawPrograms(own, ttlMs, order);
    const isCrowded = dice.fork(`crowd of ${name}`).chance(contention.crowded);
    return isCrowded ? drawCrowd(own, ttlMs) : drawWorkers(own, ttlMs);
  };
  const isDeaf = dice.fork("deaf").chance(0.2);
  // Many processes that never rest would split most votes for as long as they run.
  const clients = Array.from({ length: isSteady ? few : few + contention.more }, (_, index) => {
    const name = `client ${index + 1}`;
    const listens = !isDeaf || dice.fork(`deaf ${name}`).chance(0.5);
    const client = { name, workers: drawWorkersOf(name), ...(listens ? {} : { listens }) };
    return withModes(client, dice.fork(`modes of ${name}`), sharing);
  });
  const isFaultless = dice.fork("faultless").chance(kind < 0.25 ? 0.5 : 0.1);
  return { clients, isFaultless, isReading: sharing.isReading };
}

/** @param allNodes the quorum of some worlds; undefined if so many processes compete that they would split most votes */
function drawSettings(dice: Dice, ttlMs: number, allNodes: number | undefined) {
  const isCareful = dice.chance(0.7);
  const nodeTimeoutMs = Math.round(ttlMs / dice.pick([5, 10, 20]));
  const mostLatencyMs = dice.pick([dice.between(1, 4), 0.45 * nodeTimeoutMs]); // a request and its reply arrive in time
  return {
    ...{ ttlMs, nodeTimeoutMs },
    retryDelayMs: ttlMs / dice.pick([20, 5]),
    retryDelayMaxMs: ttlMs / dice.pick([4, 1]),
    ...(dice.chance(0.1) && allNodes !== undefined ? { quorum: allNodes } : {}),
    latencyMs: [mostLatencyMs / 10, mostLatencyMs] as const,
    keepsOrder: dice.chance(0.7),
    trust: isCareful ? ("remaining time" as const) : ("signal" as const),
    marginMs: isCareful ? longestSlipMs + mostLatencyMs : 0,
  };
}

function drawWorkers(dice: Dice, ttlMs: number): Operation[][] {
  const workers = dice.pick([1, 1, 1, 2, 3]);
  return Array.from({ length: workers }, () =>
    Array.from({ length: dice.integer(1, 4) }, () => drawOperation(dice, ttlMs)),
  );
}

/** Draws how many additional processes compete, and the probability that a process is a crowd. */
function drawContention(dice: Dice): { readonly more: number; readonly crowded: number } {
  const crowded = dice.chance(0.05) ? dice.pick([0.5, 1]) : 0;
  return { more: dice.chance(0.03) ? dice.integer(2, 4) : 0, crowded };
}

/**
 * How many names may share few counters. If hundreds of locks were acquired at once over one counter, hardly any attempt
 * would agree on a token: the counter would be higher again whenever one proposes it.
 */
const sharingNamesMax = 50;

/** Draws how many fence counters the resources of a node share: none in half of the worlds. */
function drawCounters(dice: Dice, clients: readonly ScenarioClient[]): number {
  const counters = dice.pick([Infinity, Infinity, Infinity, 3, 1, 1]);
  return resourcesOf({ clients }).length > sharingNamesMax ? Infinity : counters;
}

/** Draws the nodes that do not notify of releases: none in most worlds, some or all in others. */
function drawUnwatchable(dice: Dice, nodes: readonly string[]): readonly string[] {
  return dice.chance(0.2) ? dice.some(nodes, dice.integer(1, nodes.length)) : [];
}

/**
 * Draws many calls of one process that hold the same lock for a short time, so that it is handed over from one to the
 * next. Some give up at any moment, and some want more or fewer resources than the others.
 */
function drawCrowd(dice: Dice, ttlMs: number): Operation[][] {
  const most = dice.pick([["stock"], ["stock"], ["cash", "stock"]]);
  const arriveWithinMs = dice.pick([2, ttlMs / 4]);
  const longestHoldMs = dice.pick([2, 2, ttlMs / 20]);
  const calls = dice.pick([1, 2, 5, 5]);
  const impatience = dice.pick([0, 0.1, 0.6]);
  return Array.from({ length: dice.integer(3, 8) }, () =>
    Array.from({ length: calls }, () => ({
      by: dice.pick(["acquire", "acquire", "acquire", "using", "tryAcquire"] as const),
      resources: dice.chance(0.8) ? most : dice.pick([["stock"], ["cash"], ["cash", "stock"]]),
      afterMs: dice.between(0, arriveWithinMs),
      waitTimeoutMs: dice.pick([dice.between(1, ttlMs / 4), 4 * ttlMs, 10 * ttlMs, 10 * ttlMs]),
      thinkMs: dice.between(0, longestHoldMs),
      ...(dice.chance(impatience) ? { abortAfterMs: dice.between(1, dice.pick([ttlMs / 20, ttlMs / 4])) } : {}),
      end: dice.pick(["release", "release", "release", "release", "release twice"] as const),
    })),
  );
}

function drawOperation(dice: Dice, ttlMs: number): Operation {
  const by = dice.pick(["acquire", "acquire", "tryAcquire", "using"] as const);
  const autoExtend = by === "using" || dice.chance(0.2);
  const updates = dice.integer(1, 4);
  return {
    by,
    autoExtend,
    resources: dice.pick([["stock"], ["stock"], ["stock"], ["cash"], ["cash", "stock"]]),
    afterMs: dice.between(0, dice.pick([10, ttlMs])),
    waitTimeoutMs: ttlMs * dice.pick([1, 4, 10]),
    updates,
    thinkMs: Array.from({ length: updates }, () => dice.between(1, dice.pick([10, 10, ttlMs / 2, 1.5 * ttlMs]))),
    ...(dice.chance(0.2) ? { ttlMs: 2 * ttlMs } : {}),
    ...(autoExtend && dice.chance(0.3) ? { maxHoldMs: 2 * ttlMs } : {}),
    ...(dice.chance(0.1) ? { abortAfterMs: dice.between(1, ttlMs) } : {}),
    ...(dice.chance(0.3) ? { extendMs: ttlMs } : {}),
    end: autoExtend ? "release" : dice.pick(["release", "release", "release", "release twice", "forget"]),
  };
}
