import type { Dice } from "./dice.ts";
import { patientMsOf, type Workers } from "./draw-programs.ts";
import { type Membership, nodeNames, type Operation } from "./scenario.ts";

/** The most nodes of a world: five, and five others. */
const mostNodes = 10;

/** Draws changes of the set of nodes: more or fewer nodes, others, some of both, and back to the first set. */
export function drawMembership(dice: Dice, ttlMs: number): Membership {
  return {
    sets: drawSets(dice.fork("sets")),
    startMs: dice.between(0, ttlMs),
    followMs: dice.pick([0, dice.between(1, 20), dice.between(0, 2 * ttlMs)]),
    discipline: dice.pick(["in order", "in order", "in order", "operator hurries", "clients hurry"] as const),
    closes: dice.pick(["at once", "without calls"] as const),
    watchMs: Math.ceil(dice.pick([1, ttlMs / 2, ttlMs])),
  };
}

function drawSets(dice: Dice): readonly (readonly string[])[] {
  const names = nodeNames(mostNodes);
  const [three, five] = [names.slice(0, 3), names.slice(0, 5)];
  if (dice.chance(0.25)) return [three, five, names.slice(5)];
  const sets = [names.slice(0, dice.pick([1, 2, 3, 3, 3, 4, 5]))];
  for (let changes = dice.pick([1, 2, 2, 3]); changes > 0; changes--) {
    const old = sets.at(-1) as readonly string[];
    const others = names.filter((name) => !old.includes(name));
    const size = dice.pick([1, 2, 3, 3, 3, 4, 5, 5]);
    const kept = dice.pick([0, Math.min(size, old.length), dice.integer(0, Math.min(size, old.length))]);
    const next = [...dice.some(old, kept), ...dice.some(others, size - kept)];
    sets.push(dice.chance(0.2) ? (sets[0] as string[]) : next.sort());
  }
  return sets;
}

/**
 * Draws workers that lock the same resources again and again for many ttls, so that there are locks before, during and
 * after everything that happens to the nodes. Some resources are locked seldom, so that many nodes do not know their
 * counters; some workers start late, so that their clients have not seen earlier tokens; some hold their locks for long.
 */
export function drawSteadyWorkers(dice: Dice, ttlMs: number): Workers {
  return Array.from({ length: dice.pick([1, 1, 2, 3]) }, () => {
    const startMs = dice.pick([0, 0, dice.between(0, 8 * ttlMs)]);
    const restMs = dice.pick([ttlMs / 20, ttlMs / 2, ttlMs]);
    const holdMs = dice.pick([10, ttlMs / 10, ttlMs / 4, 3 * ttlMs]);
    return Array.from({ length: dice.integer(5, 20) }, (_, index): Operation => {
      const isLong = holdMs > ttlMs;
      return {
        by: dice.pick(["acquire", "acquire", "using", "tryAcquire"] as const),
        resources: dice.chance(0.2)
          ? [`item ${dice.integer(1, 4)}`]
          : dice.pick([["stock"], ["cash"], ["cash", "stock"]]),
        afterMs: dice.between(0, restMs) + (index === 0 ? startMs : 0),
        waitTimeoutMs: dice.pick([ttlMs, 4 * ttlMs, patientMsOf(ttlMs), patientMsOf(ttlMs)]),
        thinkMs: dice.between(1, holdMs),
        ...(isLong ? { autoExtend: true } : {}),
        end: isLong ? "release" : dice.pick(["release", "release", "release", "release twice", "forget"]),
      };
    });
  });
}
