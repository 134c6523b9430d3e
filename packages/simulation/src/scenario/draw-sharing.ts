import type { Dice } from "./dice.ts";
import { patientMsOf, type Workers } from "./draw-programs.ts";
import { mapOperations, type Operation, type ScenarioClient } from "./scenario.ts";

/** How the clients of a world share locks. */
export interface Sharing {
  /** The probability that an operation asks for a shared lock. */
  readonly shared: number;
  /** Whether readers follow each other without a gap, next to some writers. */
  readonly isReading: boolean;
}

/** Draws how a world shares locks. In most worlds, all locks are exclusive. */
export function drawSharing(dice: Dice): Sharing {
  if (!dice.chance(0.35)) return { shared: 0, isReading: false };
  return { shared: dice.pick([0.2, 0.5, 0.5, 0.8]), isReading: dice.chance(0.1) };
}

/**
 * Lets some operations of a client ask for shared locks. Programs stay free of deadlocks: a call may wait behind an
 * earlier one that excludes it, but each of them holds only names that come before those that it waits for.
 */
export function withModes(client: ScenarioClient, dice: Dice, { shared }: Sharing): ScenarioClient {
  if (shared === 0) return client;
  const change = (operation: Operation): Operation =>
    operation.mode === undefined && dice.chance(shared) ? { ...operation, mode: "shared" } : operation;
  return { ...client, workers: client.workers.map((operations) => mapOperations(operations, change)) };
}

/** Draws workers that read again and again, so that someone nearly always does, and a few that write. */
export function drawReaders(dice: Dice, ttlMs: number): Workers {
  const holdMs = dice.pick([2, 10, 30]);
  const pauseMs = dice.pick([0, 1, 10]);
  const operation = (mode: "exclusive" | "shared", isSeldom: boolean): Operation => ({
    by: dice.pick(["acquire", "acquire", "using"] as const),
    mode,
    resources: dice.pick([["stock"], ["stock"], ["stock"], ["cash", "stock"]]),
    afterMs: dice.between(0, isSeldom ? 10 * holdMs : pauseMs),
    waitTimeoutMs: patientMsOf(ttlMs),
    thinkMs: dice.between(0, holdMs),
  });
  const calls = (mode: "exclusive" | "shared", most: number): Operation[] =>
    Array.from({ length: dice.integer(1, most) }, () => operation(mode, mode === "exclusive"));
  return [
    ...Array.from({ length: dice.integer(1, 6) }, () => calls("shared", dice.pick([10, 60]))),
    ...Array.from({ length: dice.integer(0, 2) }, () => calls("exclusive", 10)),
  ];
}
