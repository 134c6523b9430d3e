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
 * else the machine does meets all of them. Where contenders have one process, all of them run a case before the next case
 * begins; where they have several, one runs all cases with them before the next, as there is no room for all at once.
 *
 * @param shuffle puts contenders into any order
 */
export function planOf(
  workloads: readonly Workload[],
  scale: Scale,
  shuffle: (contenders: readonly Contender[]) => readonly Contender[],
): Step[] {
  const parts = workloads.map((workload) => partOf(workload, scale));
  const alone = parts.filter(({ isAlone }) => isAlone);
  const together = parts.filter(({ isAlone }) => !isAlone);
  const rounds = Array.from({ length: Math.max(scale.rounds.alone, scale.rounds.together) }, (_, index) => index + 1);
  return rounds.flatMap((round) => {
    const takeTurns = ({ workload, contenders }: Part, cases: readonly Case[]): Step[] =>
      shuffle(contenders).flatMap((contender) =>
        cases
          .filter(({ processes }) => processes === 1 || contender.spansProcesses)
          .map((one) => ({ workload, case: one, contender, round })),
      );
    const isOn = ({ rounds }: Part): boolean => round <= rounds;
    return [
      ...alone.filter(isOn).flatMap((part) => part.cases.flatMap((one) => takeTurns(part, [one]))),
      ...together.filter(isOn).flatMap((part) => takeTurns(part, part.cases)),
    ];
  });
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
