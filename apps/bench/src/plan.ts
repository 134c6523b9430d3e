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
 * else the machine does meets all of them. Where a contender has one process, all contenders run a case before the next
 * case begins; where it has several, a contender runs all cases with them first, as not all processes have room at once.
 *
 * @param shuffle puts contenders into any order
 */
export function planOf(
  workloads: readonly Workload[],
  scale: Scale,
  shuffle: (contenders: readonly Contender[]) => readonly Contender[],
): Step[] {
  return workloads.flatMap((workload) => {
    const cases = workload.cases.filter(({ isQuick }) => isQuick || !scale.isQuick);
    const contenders = workload.contenders.filter(
      ({ name }) => !scale.isQuick || workload.quickContenders.includes(name),
    );
    const isAlone = cases.every(({ processes }) => processes === 1);
    const rounds = Array.from({ length: isAlone ? scale.rounds.alone : scale.rounds.together }, (_, index) => index + 1);
    return rounds.flatMap((round) => {
      const takeTurns = (some: readonly Case[]): Step[] =>
        shuffle(contenders).flatMap((contender) =>
          some
            .filter(({ processes }) => processes === 1 || contender.spansProcesses)
            .map((one) => ({ workload, case: one, contender, round })),
        );
      return isAlone ? cases.flatMap((one) => takeTurns([one])) : takeTurns(cases);
    });
  });
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
