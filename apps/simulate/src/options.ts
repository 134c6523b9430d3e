import { type Command, type Given, readCommand } from "@holdfast/app-kit/program";
import { type FaultClassName, faultClasses } from "@holdfast/simulation";

/** A task. */
export type Task =
  | {
      readonly kind: "many";
      /** The number of runs of each class; more of the first class if its operations need them. */
      readonly runs: Readonly<Partial<Record<FaultClassName, number>>>;
      readonly from: number;
      readonly operations: number;
      /** Whether to keep seeds that break a promise: see `kept-seeds.ts`. */
      readonly keeps: boolean;
    }
  | { readonly kind: "one"; readonly faults: FaultClassName; readonly seed: number };

const classNames = Object.keys(faultClasses) as FaultClassName[];

/** The default number of runs of each class. */
const defaultRuns: Readonly<Record<FaultClassName, number>> = {
  survivable: 10_000,
  "lock-breaking": 1000,
  "fence-breaking": 200,
  healed: 300,
  changing: 300,
};

/** The number of runs of each class with `--long`. */
const longRuns = 100_000;

/** How many seeds lie between those of two days with `--fresh`. */
const seedsPerDay = 1_000_000;

const help = `Simulates locks under faults, on virtual time: the same seed always leads to the same history.

Usage: pnpm simulate [options]

  --faults CLASS   only these faults (default: all classes)
${classNames.map((name) => `                     ${name.padEnd(15)} ${faultClasses[name].meaning}`).join("\n")}
  --seed N         simulates this seed, and prints what happens (default class: survivable); with --runs, begins there
  --runs N         how many runs (default ${defaultRuns.survivable} survivable, fewer of the others)
  --operations N   continues until clients have ended N operations
  --long           ${longRuns} runs of each class: more than an hour on two cores
  --fresh          begins at a seed made from today's date, which no other day has
  --keep           adds seeds that break a promise to those that \`pnpm test\` simulates
  --help           prints this

Exit code: 0 when every promise was kept, 1 when one was violated, 2 when it could not run.
`;

/** Reads the command line. */
export function parseCommand(args: readonly string[]): Command<Task> {
  return readCommand(help, args, taskOf);
}

function taskOf({ flag, text, integer }: Given): Task {
  const [long, fresh, keep] = [flag("long"), flag("fresh"), flag("keep")];
  const named = text("faults");
  const faults = named === undefined ? undefined : classOf(named);
  const seed = integer("seed", undefined, 0);
  const runs = integer("runs", undefined, 1);
  const operations = integer("operations", 0, 1);
  if (fresh && seed !== undefined) throw new RangeError("--fresh and --seed exclude each other");
  if (long && (runs !== undefined || operations > 0)) throw new RangeError("--long takes no --runs or --operations");
  if (seed !== undefined && runs === undefined && operations === 0 && !long) {
    if (keep) throw new RangeError("--keep needs --runs, --operations or --long beside --seed");
    return { kind: "one", faults: faults ?? "survivable", seed };
  }
  const selected = faults === undefined ? classNames : [faults];
  const share = (name: FaultClassName): number => {
    if (long) return longRuns;
    const asked = runs ?? (operations > 0 && name === selected[0] ? 0 : undefined);
    if (asked === undefined) return defaultRuns[name];
    return faults === undefined ? Math.ceil((asked * defaultRuns[name]) / defaultRuns.survivable) : asked;
  };
  return {
    kind: "many",
    runs: Object.fromEntries(selected.map((name) => [name, share(name)])),
    from: fresh ? firstSeedOf(Date.now()) : (seed ?? 1),
    operations,
    keeps: keep,
  };
}

/** The first seed of a day: its number since 1970, and six digits. */
function firstSeedOf(nowMs: number): number {
  return Math.floor(nowMs / 86_400_000) * seedsPerDay;
}

function classOf(text: string): FaultClassName {
  const name = classNames.find((candidate) => candidate === text);
  if (name === undefined)
    throw new RangeError(`--faults must be ${classNames.join(", ")}, not ${JSON.stringify(text)}`);
  return name;
}
