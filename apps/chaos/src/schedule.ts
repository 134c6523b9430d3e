import { createDice } from "@holdfast/app-kit/dice";
import type { Plan } from "./attack/stage.ts";
import { names } from "./names.ts";
import type { Nemesis } from "./nemeses/nemesis.ts";
import type { ChaosOptions } from "./options.ts";

/** An attack, as drawn from the seed. */
export interface Slice extends Plan {
  /** Starts at 1. */
  readonly number: number;
  readonly nemesis: Nemesis;
}

/** The options that a schedule depends on. */
export type ScheduleOptions = Pick<ChaosOptions, "nemeses" | "seconds" | "nodes" | "clients" | "seed">;

/** Long enough to see the effect of an attack. A longer run has more attacks of each kind, not longer ones. */
const usualSliceMs = 2_000;

/** Draws the order and the targets of the attacks. Each nemesis attacks equally often. */
export function scheduleOf({ nemeses, seconds, seed, ...setup }: ScheduleOptions): readonly Slice[] {
  const dice = createDice(seed);
  const shareMs = (seconds * 1_000) / nemeses.length;
  const rounds = Math.max(1, Math.floor(shareMs / usualSliceMs));
  const nodes = names("n", setup.nodes);
  const clients = names("c", setup.clients);
  const order = Array.from({ length: rounds }, () => dice.some(nemeses, nemeses.length)).flat();
  return order.map((nemesis, index) => ({
    number: index + 1,
    nemesis,
    nodes: dice.some(nodes, nodeCount(nemesis, setup.nodes)),
    clients: dice.some(clients, nemesis.clients),
    durationMs: shareMs / rounds,
    seed: dice.integer(0, 2 ** 31 - 1),
  }));
}

function nodeCount({ nodes }: Nemesis, all: number): number {
  const minority = Math.ceil(all / 2) - 1;
  return { none: 0, minority, "minority and one": minority + 1, all }[nodes];
}
