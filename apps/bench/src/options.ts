import { type Command, readCommand } from "@holdfast/app-kit/program";
import type { Selection } from "./plan.ts";
import { full, fullStores, quick, quickStores, type Scale } from "./scale.ts";
import { storeWorkloads, workloads } from "./workloads/index.ts";
import type { Workload } from "./workloads/workload.ts";

/** What a run measures: libraries over Redis, or single stores of several kinds. */
const subjects = {
  libraries: { full, quick, workloads },
  stores: { full: fullStores, quick: quickStores, workloads: storeWorkloads },
};

/** The options of a run. */
export interface BenchOptions {
  readonly subject: keyof typeof subjects;
  readonly scale: Scale;
  readonly workloads: readonly Workload[];
  readonly selection: Selection;
  readonly hasIdleLoops: boolean;
  /** The folder for the report; a temporary one if undefined. */
  readonly out: string | undefined;
  /** The command of the same run. */
  readonly command: string;
}

const help = `Measures Holdfast, other lock libraries, and clients without a library, on real redis-servers, in one run.

Usage: pnpm bench [stores] [options]

  stores            measures single stores instead: PostgreSQL, MariaDB, etcd, SQLite and Redis, each with Holdfast
                    and with the usual way to lock there; about ten minutes

  --quick           some cells and contenders, two short rounds: a minute and a half (default: about half an hour)
  --only A,B        only these workloads
  --servers 1,5     only cells with so many servers
  --at 1,100        only cells with so many locks at a time
  --rounds N        how often each cell is measured (default: 9, or fewer)
  --no-idle-loops   does not keep the cores awake
  --list            prints all workloads with their cells and contenders
  --out DIR         writes the report into this folder (default: a new temporary one)
  --help            prints this

At the end, the ratios to the best peer are printed with their goals. The report is README.md, and figures.json with medians
and quartiles. That of stores is benchmark-stores.md.
Exit code: 0 when it ran, whatever the figures; 2 when it could not run.
`;

/** Reads the command line. */
export function parseCommand(args: readonly string[]): Command<BenchOptions> {
  return readCommand(help, args, ({ words, flag, text }) => {
    const subject = subjectOf(words);
    const { workloads, ...scales } = subjects[subject];
    if (flag("list")) return list(workloads);
    const base = flag("quick") ? scales.quick : scales.full;
    const [rounds = base.rounds] = numbers(text("rounds")) ?? [];
    const isOut = (arg = ""): boolean => arg.startsWith("--out");
    return {
      subject,
      scale: { ...base, rounds },
      workloads: chosen(workloads, text("only")),
      selection: { servers: numbers(text("servers")), atATime: numbers(text("at")) },
      hasIdleLoops: !flag("no-idle-loops"),
      out: text("out"),
      command: [
        "pnpm bench",
        ...args.filter((arg, at) => arg !== "--" && !isOut(arg) && args[at - 1] !== "--out"),
      ].join(" "),
    };
  });
}

function numbers(text: string | undefined): number[] | undefined {
  const values = text?.split(",").map(Number);
  const bad = values?.some((value) => !Number.isInteger(value) || value < 1);
  if (bad) throw new RangeError(`${JSON.stringify(text)} is not a list of whole numbers`);
  return values;
}

function subjectOf(words: readonly string[]): keyof typeof subjects {
  const named = words.join(" ");
  if (named === "") return "libraries";
  if (named === "stores") return named;
  throw new RangeError(`there is nothing called ${JSON.stringify(named)} to measure: only stores`);
}

function chosen(workloads: readonly Workload[], only: string | undefined): readonly Workload[] {
  if (only === undefined) return workloads;
  return only.split(",").map((wanted) => {
    const found = workloads.find(({ name }) => name === wanted);
    if (found === undefined) throw new RangeError(`there is no workload ${JSON.stringify(wanted)}: see --list`);
    return found;
  });
}

function list(workloads: readonly Workload[]): string {
  const marked = (names: readonly { name: string; isQuick: boolean }[]): string =>
    names.map(({ name, isQuick }) => `${name}${isQuick ? "*" : ""}`).join("; ");
  const texts = workloads.map(({ name, title, cells, contenders, quickContenders }) => {
    const contending = contenders.map((one) => ({ name: one.name, isQuick: quickContenders.includes(one.name) }));
    return `${name}: ${title}\n  cells       ${marked(cells)}\n  contenders  ${marked(contending)}\n`;
  });
  return [...texts, "Quick runs have what is marked with *.\n"].join("\n");
}
