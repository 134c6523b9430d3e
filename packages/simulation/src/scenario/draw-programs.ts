import type { Dice } from "./dice.ts";
import type { Operation } from "./scenario.ts";

/** A wait long enough for all faults to end and all clients to get the lock, so that only a stuck call times out. */
export const patientMsOf = (ttlMs: number): number => 12 * ttlMs + 10_000;

/** The operations of each worker of one process. */
export type Workers = Operation[][];

/** Draws the resources of a world, in the one order in which all of its programs lock them. */
export function drawOrder(dice: Dice): readonly string[] {
  return dice.some(["book", "cash", "mail", "stock"], dice.integer(2, 4));
}

/** Draws programs that take nested locks, on one or several resources at a time, always in the same order. */
export function drawPrograms(dice: Dice, ttlMs: number, order: readonly string[]): Workers {
  return Array.from({ length: dice.integer(1, 4) }, () =>
    Array.from({ length: dice.integer(1, 4) }, () => drawProgram(dice, ttlMs, order)),
  );
}

function drawProgram(dice: Dice, ttlMs: number, order: readonly string[]): Operation {
  const wanted = new Set(dice.some(order, dice.integer(1, order.length)));
  return drawLevels(
    dice,
    ttlMs,
    order.filter((name) => wanted.has(name)),
  );
}

/** Draws an operation that locks the first one or more of these names, and the others nested under that lock. */
function drawLevels(dice: Dice, ttlMs: number, names: readonly string[]): Operation {
  const atOnce = dice.integer(1, names.length);
  const rest = names.slice(atOnce);
  const isHasty = dice.chance(0.15);
  return {
    by: dice.pick(["acquire", "acquire", "acquire", "using", "using", "tryAcquire"] as const),
    autoExtend: true,
    resources: names.slice(0, atOnce),
    afterMs: dice.between(0, dice.pick([1, 10, ttlMs / 5])),
    waitTimeoutMs: isHasty ? dice.between(1, ttlMs) : patientMsOf(ttlMs),
    updates: dice.integer(0, 1),
    thinkMs: dice.between(0, dice.pick([2, 10, 10, ttlMs / 2])),
    ...(dice.chance(0.1) ? { abortAfterMs: dice.between(1, dice.pick([ttlMs / 20, ttlMs])) } : {}),
    ...(rest.length > 0 ? { under: [drawLevels(dice, ttlMs, rest)] } : {}),
    end: dice.pick(["release", "release", "release", "release twice"] as const),
  };
}

/** Draws workers that lock one of two resources again and again, and some that lock both. */
export function drawBusyWorkers(dice: Dice, ttlMs: number, order: readonly string[]): Workers {
  const [one = "", other = ""] = order;
  const holdMs = dice.pick([0, 2, 10]);
  const calls = (resources: readonly string[], count: number): Operation[] =>
    Array.from({ length: count }, () => ({
      by: dice.pick(["acquire", "acquire", "using"] as const),
      resources,
      afterMs: dice.between(0, dice.pick([1, 1, 5])),
      waitTimeoutMs: patientMsOf(ttlMs),
      updates: dice.integer(0, 1),
      thinkMs: dice.between(0, holdMs),
    }));
  const busy = [[one], [other]].flatMap((resources) =>
    Array.from({ length: dice.integer(0, 4) }, () => calls(resources, dice.pick([10, 60]))),
  );
  return [...busy, ...Array.from({ length: dice.integer(1, 2) }, () => calls([one, other], dice.integer(1, 6)))];
}

/** Draws more calls at once, for many resources, than one process may have in flight. */
export function drawStorm(dice: Dice, ttlMs: number): Workers {
  return Array.from({ length: dice.integer(550, 700) }, () => [
    {
      by: dice.pick(["acquire", "acquire", "tryAcquire"] as const),
      resources: [`item ${dice.integer(1, 400)}`],
      waitTimeoutMs: patientMsOf(ttlMs),
      updates: 0,
    },
  ]);
}
