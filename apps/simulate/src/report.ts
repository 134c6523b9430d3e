import { type Checker, type FaultClassName, faultClasses, missingViolation, type Tally } from "@holdfast/simulation";

/** A progress line for a terminal. */
export function progressLine(faults: FaultClassName, { runs, operations }: Tally): string {
  return ` ${faults}: ${grouped(runs)} runs, ${grouped(operations)} operations …`;
}

/** The results of a class of faults. */
export function reportOf(faults: FaultClassName, tally: Tally): string {
  const { runs, operations, locks, sharedLocks, handOvers, notifications, turns, changes, healings } = tally;
  const checkers = Object.keys(tally.violations) as Checker[];
  return [
    `${faults}: ${faultClasses[faults].meaning}`,
    `  ${grouped(runs)} runs, ${grouped(operations)} operations, ${grouped(locks)} locks, ${grouped(sharedLocks)} of them shared`,
    `  ${grouped(handOvers)} locks handed over within a process`,
    `  ${grouped(notifications)} notifications, ${grouped(turns)} of them naming the next waiter`,
    ...(changes > 0 ? [`  ${grouped(changes)} changes of the set of nodes`] : []),
    ...(healings > 0 ? [`  ${grouped(healings)} empty nodes healed`] : []),
    `  faults that struck: ${list(tally.faults)}`,
    `  lost updates, in a storage that ${list(tally.lostUpdates)}`,
    `  nonrepeatable reads, in a storage that ${list(tally.nonrepeatableReads)}`,
    ...checkers.map((checker) => `  ${verdictOn(checker, faults, tally)}`),
    "",
  ].join("\n");
}

function verdictOn(checker: Checker, faults: FaultClassName, tally: Tally): string {
  const { runs, firstSeed } = tally.violations[checker];
  const title = checker.padEnd(18);
  if (runs === 0) {
    const isToothless = missingViolation(faults, tally) === checker;
    return isToothless
      ? `✘ ${title}holds in all ${grouped(tally.runs)} runs: these faults prove nothing`
      : `✔ ${title}holds`;
  }
  const verdict = `${title}broken in ${grouped(runs)} ${runs === 1 ? "run" : "runs"}, first by seed ${firstSeed}`;
  return faultClasses[faults].mayBreak.includes(checker) ? `✔ ${verdict}, as expected` : `✘ ${verdict}`;
}

function list(counts: Readonly<Partial<Record<string, number>>>): string {
  const entries = Object.entries(counts).sort(([one, a = 0], [other, b = 0]) => b - a || one.localeCompare(other));
  return entries.map(([name, count = 0]) => `${name} ${grouped(count)}`).join(", ") || "none";
}

function grouped(count: number): string {
  return count.toLocaleString("en").replaceAll(",", " ");
}
