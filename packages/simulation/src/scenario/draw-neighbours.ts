import type { Dice } from "./dice.ts";
import type { Outline } from "./draw-faults.ts";
import type { Workers } from "./draw-programs.ts";
import { drawSharing, withModes } from "./draw-sharing.ts";
import type { Fault } from "./fault.ts";
import type { Operation, ScenarioClient } from "./scenario.ts";

/** With so many counters, "stock" has one of its own, and all other names below share the one of "cash". */
export const neighbourCounters = 3;
const neighbours = ["book", "mail", "item 3"];

/**
 * Draws clients of which the first advances one of the two counters of the others' locks. Some locks are shared.
 */
export function drawNeighbours(dice: Dice, ttlMs: number): ScenarioClient[] {
  const sharing = drawSharing(dice.fork("sharing"));
  return Array.from({ length: dice.pick([3, 3, 4]) }, (_, index): ScenarioClient => {
    const name = `client ${index + 1}`;
    const own = dice.fork(name);
    const client = { name, workers: index === 0 ? drawNeighbour(own) : drawLocker(own, ttlMs) };
    return withModes(client, dice.fork(`modes of ${name}`), sharing);
  });
}

/**
 * Draws the workers of a client that advances the counter of "cash" repeatedly, and so one of the two counters of a
 * lock on "cash" and "stock": at any moment, also between the rounds of an attempt.
 */
function drawNeighbour(dice: Dice): Workers {
  const restMs = dice.pick([0, 1, 10]);
  return neighbours.map((resource) =>
    Array.from({ length: 50 }, (): Operation => {
      return { by: "tryAcquire", resources: [resource], afterMs: dice.between(0, restMs), updates: 0 };
    }),
  );
}

/**
 * Draws the worker of another client, which locks "stock" repeatedly, and in some processes "cash" as well. It does
 * not wait: where each client reaches other nodes, calls that wait for both may take longer than elsewhere.
 */
function drawLocker(dice: Dice, ttlMs: number): Workers {
  const wanted = dice.pick([[["stock"]], [["cash", "stock"]], [["stock"], ["cash", "stock"]]]);
  const restMs = dice.pick([5, 20, ttlMs / 20]);
  return [
    Array.from(
      { length: dice.integer(10, 20) },
      (): Operation => ({
        by: "tryAcquire",
        resources: dice.pick(wanted),
        afterMs: dice.between(0, restMs),
        updates: dice.integer(0, 1),
      }),
    ),
  ];
}

/**
 * Draws what lets a token that not all counters have agreed on do harm: the clock of the first client is ahead, so that
 * the others' clocks alone do not keep the tokens in order, and each client reaches other nodes. Two locks in a row may
 * then have a single node in common.
 */
export function drawApart(dice: Dice, outline: Outline, faults: readonly Fault[]): Fault[] {
  const { clients, nodes, horizonMs, minority } = outline;
  const cuts = clients.slice(1).map((client): Fault => {
    const cutOff = dice.some(nodes, minority);
    return { kind: "partition", clients: [client], nodes: cutOff, part: "both", atMs: 0, forMs: horizonMs };
  });
  // Where counters are lost, the order of tokens depends on correct clocks.
  if (faults.some((fault) => fault.kind === "node crash" && fault.memory === "lost")) return cuts;
  return [{ kind: "clock jump", of: "client 1", atMs: 0, byMs: dice.between(0, 5000) }, ...cuts];
}
