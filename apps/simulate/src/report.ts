import { type Checker, complaints, type FaultClassName, faultClasses, type Tally } from "@holdfast/simulation";

/** One line for a terminal while it goes on. */
export function progressLine(faults: FaultClassName, { runs, operations }: Tally): string {
  return ` ${faults}: ${grouped(runs)} runs, ${grouped(operations)} operations …`;
}

/** What a class of faults came to. */
export function reportOf(faults: FaultClassName, tally: Tally): string {
  const { mayBreak, meaning } = faultClasses[faults];
  const checked = Object.entries(tally.violations) as [Checker, Tally["violations"][Checker]][];
  const verdicts = checked.map(([checker, { runs, firstSeed }]) => {
    const verdict = runs === 0 ? "holds" : `broken in ${grouped(runs)} runs, first by seed ${firstSeed}`;
    const isAllowed = mayBreak.includes(checker);
    return `  ${runs === 0 || isAllowed ? "✔" : "✘"} ${checker.padEnd(18)}${verdict}${runs > 0 && isAllowed ? ", as it may" : ""}`;
  });
  return [
    `${faults}: ${meaning}`,
    `  ${grouped(tally.runs)} runs, ${grouped(tally.operations)} operations, ${grouped(tally.locks)} locks`,
    `  faults: ${list(tally.faults)}`,
    `  lost updates, in a storage that ${list(tally.lostUpdates)}`,
    ...verdicts,
    ...complaints(faults, tally).map((complaint) => `  ✘ ${complaint}`),
  ].join("\n");
}

/** The command that shows one seed again. */
export function replayCommand(faults: FaultClassName, seed: number): string {
  return `pnpm simulate --faults ${faults} --seed ${seed}`;
}

function list(counts: Readonly<Partial<Record<string, number>>>): string {
  const entries = Object.entries(counts).sort(([, a = 0], [, b = 0]) => b - a);
  return entries.map(([name, count = 0]) => `${name} ${grouped(count)}`).join(", ") || "none";
}

function grouped(count: number): string {
  return count.toLocaleString("en").replaceAll(",", " ");
}
