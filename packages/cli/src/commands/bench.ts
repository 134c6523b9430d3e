import type { LockError, Redlock } from "@holdfast/core";
import type { Argv, CommandModule } from "yargs";
import { benchNodes } from "../bench/bench-nodes.ts";
import { renderLoad } from "../bench/render-load.ts";
import { type Load, type LoadResult, resourcesOf, runLoad } from "../bench/run-load.ts";
import { exitCodes, Failure, UsageError } from "../exit-codes.ts";
import { connectionProblems } from "../failures.ts";
import {
  only,
  readServerOptions,
  type ServerArguments,
  type ServerOptions,
  withServerOptions,
} from "../options/server-options.ts";
import { print } from "../output/print.ts";
import { terminalOf } from "../output/terminal.ts";
import { withLockService } from "../servers/lock-service.ts";
import type { Server } from "../servers/server.ts";
import { arranged } from "../servers/sets.ts";
import { listenToSignals } from "../signals.ts";

interface BenchArguments extends ServerArguments {
  readonly seconds: string | undefined;
  readonly concurrency: string | undefined;
  readonly json: boolean | undefined;
}

/** The loads to run, and the format of the results. */
interface Plan {
  readonly loads: readonly Load[];
  readonly secondsEach: number;
  readonly json: boolean;
}

const defaults = { seconds: "3", concurrency: "1,10,100" } as const;
const secondsMax = 30;
const concurrencyMax = 1_000;
/** The most locks per load. */
const pairsMax = 500_000;
/** The number of concurrent waiters in the last load. */
const contenders = 10;

/** `holdfast bench`: measures locks on the user's own servers. */
export const benchCommand: CommandModule<object, BenchArguments> = {
  command: "bench",
  describe: "Measure locks per second and their latency on the servers",
  builder: (yargs) =>
    withServerOptions(yargs)
      .usage(
        "$0 bench [options]\n\nAcquires and releases locks on separate resources, then " +
          `${contenders} at once on one resource.\nRemoves its keys from the servers. Ctrl-C ends it with the results so far.`,
      )
      .options({
        seconds: {
          type: "string",
          requiresArg: true,
          describe: `Duration of each load in seconds (default: ${defaults.seconds})`,
        },
        concurrency: {
          type: "string",
          requiresArg: true,
          describe: `Numbers of concurrent locks, a list (default: ${defaults.concurrency})`,
        },
        json: { type: "boolean", describe: "Print one line of JSON for each load" },
      }) as unknown as Argv<BenchArguments>,
  handler: async (args) => {
    process.exitCode = await bench(readPlan(args), await readServerOptions(args, process.env));
  },
};

/** @throws {UsageError} naming what is wrong */
function readPlan(args: BenchArguments): Plan {
  const concurrencies = (only("--concurrency", args.concurrency) ?? defaults.concurrency).split(",").map(Number);
  const isGood = (number: number): boolean => Number.isInteger(number) && number >= 1 && number <= concurrencyMax;
  if (!concurrencies.every(isGood)) {
    throw new UsageError(`--concurrency must be a list of numbers from 1 to ${concurrencyMax}, such as 1,10,100`);
  }
  const loads = [
    ...concurrencies.map((concurrency) => ({ concurrency, isContended: false })),
    { concurrency: contenders, isContended: true },
  ];
  const secondsEach = Number(only("--seconds", args.seconds) ?? defaults.seconds);
  if (!(secondsEach > 0 && secondsEach * loads.length <= secondsMax)) {
    throw new UsageError(
      `--seconds must be above 0, and at most ${secondsMax / loads.length}: ${loads.length} loads may take ${secondsMax} s in total`,
    );
  }
  return { loads, secondsEach, json: args.json === true };
}

async function bench(plan: Plan, options: ServerOptions): Promise<number> {
  const signals = listenToSignals();
  const { interrupted } = signals;
  try {
    await withLockService(options, { interrupted }, ({ servers }) => measure(plan, options, servers, interrupted));
    return signals.exitCode;
  } finally {
    signals.stopListening();
  }
}

async function measure(
  plan: Plan,
  options: ServerOptions,
  servers: readonly Server[],
  signal: AbortSignal,
): Promise<void> {
  const { joint, epoch, ttlMs, nodeTimeoutMs } = options;
  const { nodes, clear, dispose } = await benchNodes(servers);
  const { Redlock } = await import("@holdfast/core");
  const redlock = new Redlock(arranged(nodes, joint), { epoch, ttlMs, nodeTimeoutMs });
  const limits = { seconds: plan.secondsEach, pairs: pairsMax, signal };
  const used: string[] = [];
  const measureLoad = async (load: Load): Promise<void> => {
    const resources = resourcesOf(load);
    used.push(...resources);
    await warmUp(redlock, resources[0] as string, servers);
    show(await runLoad(redlock, load, resources, limits), plan);
  };
  if (!plan.json) print(`Acquiring and releasing locks on ${placeOf(options)}, ${plan.secondsEach} s for each load`);
  try {
    for (const load of plan.loads) if (!signal.aborted) await measureLoad(load);
  } finally {
    await redlock.close(); // nothing writes to the servers any more
    await clear(used);
    await dispose();
  }
}

function show(result: LoadResult, { json }: Plan): void {
  print(json ? JSON.stringify(result) : `\n${renderLoad(result, terminalOf(process.stdout, process.env))}`);
}

/**
 * Acquires a lock before the measurement, so that the servers have cached the script.
 *
 * @throws {Failure} if no lock is granted
 */
async function warmUp(redlock: Redlock, resource: string, servers: readonly Server[]): Promise<void> {
  try {
    const lock = await redlock.acquire(resource, { waitTimeoutMs: 0 });
    await lock.release();
  } catch (error) {
    const { code, message } = error as LockError;
    if (code === "QUORUM_UNREACHABLE") throw new Failure(message + connectionProblems(servers), exitCodes.noQuorum);
    throw error;
  }
}

function placeOf({ addresses }: ServerOptions): string {
  if (addresses.length === 0) return "a node in this process";
  return addresses.length === 1 ? "1 server" : `${addresses.length} servers`;
}
