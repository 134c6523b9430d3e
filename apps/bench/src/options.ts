import { parseArgs } from "node:util";
import { full, quick, type Scale } from "./scale.ts";
import { workloads } from "./workloads/index.ts";
import type { Workload } from "./workloads/workload.ts";

/** What the command line asks for. */
export interface BenchOptions {
  readonly scale: Scale;
  readonly workloads: readonly Workload[];
  /** Where to write the report; a temporary folder where nothing is said. */
  readonly out: string | undefined;
  /** How the same run is asked for again. */
  readonly command: string;
}

/** What to do: run, print a text, or refuse. */
export type Command =
  | { readonly kind: "run"; readonly options: BenchOptions }
  | { readonly kind: "print"; readonly text: string }
  | { readonly kind: "bad"; readonly message: string };

const help = `Measures Holdfast, other lock libraries, and clients without any library, on real redis-servers, in one run.

Usage: pnpm bench [options]

  --quick          what the targets rest on, with fewer and shorter rounds: under two minutes (default: about 35 minutes)
  --only A,B       only these workloads
  --list           prints all of them, with their contenders
  --out DIR        writes the report into this folder (default: a new temporary one)
  --help           prints this

The report is README.md, with charts beside it, and figures.json, which has all that was measured.
Exit code: 0 when it ran, whatever the figures; 2 when it could not run.
`;

/** Reads the command line. A leading `--` is what `pnpm bench -- --list` leaves behind. */
export function parseCommand(args: readonly string[]): Command {
  const given = args[0] === "--" ? args.slice(1) : [...args];
  try {
    const { values } = parseArgs({
      args: given,
      options: {
        quick: { type: "boolean", default: false },
        only: { type: "string" },
        list: { type: "boolean", default: false },
        out: { type: "string" },
        help: { type: "boolean", default: false },
      },
    });
    if (values.help) return { kind: "print", text: help };
    if (values.list) return { kind: "print", text: list() };
    const scale = values.quick ? quick : full;
    const options = {
      scale,
      workloads: chosen(values.only, scale),
      out: values.out,
      command: [
        "pnpm bench",
        ...(values.quick ? ["--quick"] : []),
        ...(values.only ? [`--only ${values.only}`] : []),
      ].join(" "),
    };
    return { kind: "run", options };
  } catch (error) {
    return { kind: "bad", message: (error as Error).message };
  }
}

function chosen(only: string | undefined, { isQuick }: Scale): readonly Workload[] {
  const isPartOf = ({ cases }: Workload): boolean => !isQuick || cases.some((one) => one.isQuick);
  if (only === undefined) return workloads.filter(isPartOf);
  const some = only.split(",").map(workloadNamed);
  const missing = some.find((workload) => !isPartOf(workload));
  if (missing !== undefined) throw new RangeError(`${missing.name} has no part in quick runs`);
  return some;
}

function workloadNamed(wanted: string): Workload {
  const found = workloads.find(({ name }) => name === wanted);
  if (found === undefined) throw new RangeError(`there is no workload ${JSON.stringify(wanted)}: see --list`);
  return found;
}

function list(): string {
  return workloads
    .map(({ name, title, cases, contenders, quickContenders }) => {
      const mark = ({ isQuick }: { isQuick: boolean }): string => (isQuick ? "*" : "");
      const caseNames = cases.map((one) => `${one.name}${mark(one)}`).join("; ");
      const who = contenders
        .map((one) => `${one.name}${mark({ isQuick: quickContenders.includes(one.name) })}`)
        .join("; ");
      return `${name}: ${title}\n  cases       ${caseNames}\n  contenders  ${who}\n`;
    })
    .concat("Quick runs have what is marked with *.\n")
    .join("\n");
}
