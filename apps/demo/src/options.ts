import { parseArgs } from "node:util";
import { integer } from "@holdfast/app-kit/program";

/** The options of a run. */
export interface DemoOptions {
  /** Whether to use real servers and worker processes, instead of memory nodes in this process. */
  readonly redis: boolean;
  readonly seconds: number;
  readonly workers: number;
  /** Whether to run without locks, to show that the checks catch it. */
  readonly broken: boolean;
  /** Whether to print the metrics of the locks at the end. */
  readonly metrics: boolean;
}

const help = `Shows a distributed lock at work, and checks that it keeps what it promises.

Usage: pnpm demo [options]

  --redis        five real redis-servers and worker processes, instead of memory nodes in one process
  --seconds N    how long, from 5 to 600 (default 20)
  --workers N    how many workers, from 2 to 32 (default 6)
  --break        runs without locks, to show that the checks catch it
  --metrics      prints the metrics of the locks at the end, as Prometheus reads them
  --help         prints this

Exit code: 0 when every check holds, 1 when something was violated, 2 when it could not run.
`;

/** Reads the options, or returns the help. */
export function parseOptions(args: string[]): DemoOptions | string {
  const { values } = parseArgs({
    args,
    options: {
      redis: { type: "boolean", default: false },
      seconds: { type: "string", default: "20" },
      workers: { type: "string", default: "6" },
      break: { type: "boolean", default: false },
      metrics: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return help;
  return {
    redis: values.redis,
    seconds: integer("--seconds", values.seconds, 5, 600),
    workers: integer("--workers", values.workers, 2, 32),
    broken: values.break,
    metrics: values.metrics,
  };
}
