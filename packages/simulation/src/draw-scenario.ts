import { Dice } from "./dice.ts";
import { drawFaults, longestSlipMs } from "./draw-faults.ts";
import { type FaultClassName, faultClasses } from "./fault-classes.ts";
import { complete, longestTtlMs, nodeNames, type Operation, quorumOf, type Scenario } from "./scenario.ts";

/**
 * The scenario that follows from a seed: who does what, and which faults of the class strike.
 *
 * @throws {RangeError} if there is no such class
 */
export function drawScenario(faults: FaultClassName, seed: number): Scenario {
  if (!Object.hasOwn(faultClasses, faults)) {
    throw new RangeError(`faults must be ${Object.keys(faultClasses).join(", ")}, not ${JSON.stringify(faults)}`);
  }
  const dice = new Dice(seed).fork(faults);
  const nodes = dice.pick([1, 2, 3, 3, 3, 3, 3, 4, 5, 5]);
  const ttlMs = dice.pick([200, 500, 1000, 3000]);
  const clients = Array.from({ length: dice.pick([2, 2, 3, 4]) }, (_, index) => ({
    name: `client ${index + 1}`,
    workers: drawWorkers(dice.fork(`client ${index + 1}`), ttlMs),
  }));
  const settings = drawSettings(dice.fork("settings"), ttlMs, nodes);
  const scenario = complete({ seed, nodes, clients, settings });
  const horizonMs = 4 * ttlMs;
  const outline = {
    ...{ nodes: nodeNames(nodes), clients: clients.map(({ name }) => name) },
    ...{
      settings: scenario.settings,
      minority: nodes - quorumOf(scenario),
      horizonMs,
      longestTtlMs: longestTtlMs(scenario),
    },
  };
  return { ...scenario, faults: drawFaults(dice.fork("faults"), faultClasses[faults], outline) };
}

function drawSettings(dice: Dice, ttlMs: number, nodes: number) {
  const isCareful = dice.chance(0.7);
  const nodeTimeoutMs = Math.round(ttlMs / dice.pick([5, 10, 20]));
  const mostLatencyMs = dice.pick([dice.between(1, 4), 0.45 * nodeTimeoutMs]); // a request and its reply are in time
  return {
    ...{ ttlMs, nodeTimeoutMs },
    retryDelayMs: ttlMs / dice.pick([20, 5]),
    retryDelayMaxMs: ttlMs / dice.pick([4, 1]),
    ...(dice.chance(0.1) ? { quorum: nodes } : {}),
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
