import { parseArgs } from "node:util";
import { type Command, readCommand } from "@holdfast/app-kit/program";
import type { Selection } from "./plan.ts";
import { full, quick, type Scale } from "./scale.ts";
import { workloads } from "./workloads/index.ts";
import type { Workload } from "./workloads/workload.ts";

/** The options of a run. */
export interface BenchOptions {
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

Usage: pnpm bench [options]

  --quick           some cells and contenders, two short rounds: about two minutes (default: about half an hour)
  --only A,B        only these workloads
  --servers 1,5     only cells with so many servers
  --at 1,100        only cells with so many locks at a time
  --rounds N        how often each cell is measured (default: 5)
  --no-idle-loops   does not keep the cores awake
  --list            prints all workloads with their cells and contenders
  --out DIR         writes the report into this folder (default: a new temporary one)
  --help            prints this

The report is README.md, with charts beside it, and figures.json with medians and quartiles.
Exit code: 0 when it ran, whatever the figures; 2 when it could not run.
`;

/** Reads the command line. */
export function parseCommand(args: readonly string[]): Command<BenchOptions> {
  return readCommand(args, (given) => {
    const { values } = parseArgs({
      args: given,
      options: {
        quick: { type: "boolean", default: false },
        only: { type: "string" },
        servers: { type: "string" },
        at: { type: "string" },
        rounds: { type: "string" },
        "no-idle-loops": { type: "boolean", default: false },
        list: { type: "boolean", default: false },
        out: { type: "string" },
        help: { type: "boolean", default: false },
      },
    });
    if (values.help) return help;
    if (values.list) return list();
    const base = values.quick ? quick : full;
    const [rounds = base.rounds] = numbers(values.rounds) ?? [];
    return {
      scale: { ...base, rounds },
      workloads: chosen(values.only),
      selection: { servers: numbers(values.servers), atATime: numbers(values.at) },
      hasIdleLoops: !values["no-idle-loops"],
      out: values.out,
      command: ["pnpm bench", ...withoutOut(given)].join(" "),
    };
  });
}

function withoutOut(args: readonly string[]): string[] {
  return args.filter((arg, index) => !arg.startsWith("--out") && args[index - 1] !== "--out");
}

function numbers(text: string | undefined): number[] | undefined {
  const values = text?.split(",").map(Number);
  const bad = values?.some((value) => !Number.isInteger(value) || value < 1);
  if (bad) throw new RangeError(`${JSON.stringify(text)} is not a list of whole numbers`);
  return values;
}

function chosen(only: string | undefined): readonly Workload[] {
  return only === undefined ? workloads : only.split(",").map(workloadNamed);
}

function workloadNamed(wanted: string): Workload {
  const found = workloads.find(({ name }) => name === wanted);
  if (found === undefined) throw new RangeError(`there is no workload ${JSON.stringify(wanted)}: see --list`);
  return found;
}

function list(): string {
  return workloads
    .map(({ name, title, cells, contenders, quickContenders }) => {
      const mark = ({ isQuick }: { isQuick: boolean }): string => (isQuick ? "*" : "");
      const cellNames = cells.map((cell) => `${cell.name}${mark(cell)}`).join("; ");
      const contenderNames = contenders
        .map((contender) => `${contender.name}${mark({ isQuick: quickContenders.includes(contender.name) })}`)
        .join("; ");
      return `${name}: ${title}\n  cells       ${cellNames}\n  contenders  ${contenderNames}\n`;
    })
    .concat("Quick runs have what is marked with *.\n")
    .join("\n");
}
