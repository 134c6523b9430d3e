import type { Contender } from "./contenders/contender.ts";
import type { Scale } from "./scale.ts";
import type { Case, Workload } from "./workloads/workload.ts";

/** Something to run: one turn. */
export interface Step {
  readonly workload: Workload;
  readonly case: Case;
  readonly contender: Contender;
  readonly round: number;
}

/**
 * What is to run, in order. Rounds are interleaved, and contenders take turns in another order in each, so that whatever
 * else the machine does meets all of them. Where contenders have several processes, one runs all cases with them before
 * the next, as there is no room for all at once. Where they have one, which comes afterwards and keeps them all, all run a
 * case before the next case begins.
 *
 * @param shuffle puts contenders into any order
 */
export function planOf(
  workloads: readonly Workload[],
  scale: Scale,
  shuffle: (contenders: readonly Contender[]) => readonly Contender[],
): Step[] {
  const parts = workloads.map((workload) => partOf(workload, scale));
  const isPartOf = (contender: Contender, { processes, quickContenders }: Case): boolean =>
    (processes === 1 || contender.spansProcesses) &&
    (!scale.isQuick || quickContenders === undefined || quickContenders.includes(contender.name));
  const takeTurns = ({ workload, contenders }: Part, cases: readonly Case[], round: number): Step[] =>
    shuffle(contenders).flatMap((contender) =>
      cases.filter((one) => isPartOf(contender, one)).map((one) => ({ workload, case: one, contender, round })),
    );
  const together = inRounds(
    parts.filter(({ isAlone }) => !isAlone),
    (part, round) => takeTurns(part, part.cases, round),
  );
  const alone = inRounds(
    parts.filter(({ isAlone }) => isAlone),
    (part, round) => part.cases.flatMap((one) => takeTurns(part, [one], round)),
  );
  return [...together, ...alone];
}

function inRounds(parts: readonly Part[], stepsOf: (part: Part, round: number) => Step[]): Step[] {
  const rounds = Array.from({ length: Math.max(0, ...parts.map(({ rounds }) => rounds)) }, (_, index) => index + 1);
  return rounds.flatMap((round) =>
    parts.filter(({ rounds }) => round <= rounds).flatMap((part) => stepsOf(part, round)),
  );
}

/** What a run has of a workload. */
interface Part {
  readonly workload: Workload;
  readonly cases: readonly Case[];
  readonly contenders: readonly Contender[];
  /** Whether one process of each contender is enough. */
  readonly isAlone: boolean;
  readonly rounds: number;
}

function partOf(workload: Workload, { isQuick, rounds }: Scale): Part {
  const cases = workload.cases.filter((one) => one.isQuick || !isQuick);
  const contenders = workload.contenders.filter(({ name }) => !isQuick || workload.quickContenders.includes(name));
  const isAlone = cases.every(({ processes }) => processes === 1);
  const roundsMax = workload.roundsMax ?? Number.POSITIVE_INFINITY;
  return {
    workload,
    cases,
    contenders,
    isAlone,
    rounds: Math.min(roundsMax, isAlone ? rounds.alone : rounds.together),
  };
}

/** Any order, each as likely (Fisher and Yates). */
export function shuffled<T>(values: readonly T[]): T[] {
  const all = [...values];
  for (let left = all.length; left > 1; left--) {
    const chosen = Math.floor(Math.random() * left);
    [all[left - 1], all[chosen]] = [all[chosen] as T, all[left - 1] as T];
  }
  return all;
}
