import { parseArgs } from "node:util";

/** What the command line asks for. */
export interface DemoOptions {
  /** Whether to use real servers and worker processes, instead of memory nodes in this process. */
  readonly redis: boolean;
  readonly seconds: number;
  readonly workers: number;
  /** Whether to run without locks, to show what the checks catch. */
  readonly broken: boolean;
  /** Whether to print the metrics of the locks at the end. */
  readonly metrics: boolean;
}

/** What to do: run, print the help, or refuse. */
export type Command =
  | { readonly kind: "run"; readonly options: DemoOptions }
  | { readonly kind: "help" }
  | { readonly kind: "bad"; readonly message: string };

/** What `--help` prints. */
export const help = `Shows a distributed lock at work, and checks that it keeps what it promises.

Usage: pnpm demo [options]

  --redis        five real redis-servers and worker processes, instead of memory nodes in one process
  --seconds N    how long, from 5 to 600 (default 20)
  --workers N    how many workers, from 2 to 32 (default 6)
  --break        runs without locks, to show what the checks catch
  --metrics      prints the metrics of the locks at the end, as Prometheus reads them
  --help         prints this

Exit code: 0 when every check holds, 1 when something was violated, 2 when it could not run.
`;

/** Reads the command line. A leading `--` is what `pnpm demo -- --redis` leaves behind. */
export function parseCommand(args: readonly string[]): Command {
  try {
    const { values } = parseArgs({
      args: args[0] === "--" ? args.slice(1) : [...args],
      options: {
        redis: { type: "boolean", default: false },
        seconds: { type: "string", default: "20" },
        workers: { type: "string", default: "6" },
        break: { type: "boolean", default: false },
        metrics: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    });
    if (values.help) return { kind: "help" };
    const options = {
      redis: values.redis,
      seconds: integer("--seconds", values.seconds, 5, 600),
      workers: integer("--workers", values.workers, 2, 32),
      broken: values.break,
      metrics: values.metrics,
    };
    return { kind: "run", options };
  } catch (error) {
    return { kind: "bad", message: (error as Error).message };
  }
}

function integer(option: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw new RangeError(`${option} must be a whole number from ${min} to ${max}, not ${JSON.stringify(text)}`);
}
