/** Keys that no other client wants: at full speed, and over a network. */
import { uncontended as contenders } from "../contenders/index.ts";
import type { Figures } from "../measure/measures.ts";
import type { CycleOutcome } from "../process/calls.ts";
import type { Scale } from "../scale.ts";
import { type Cell, callTimeoutMs, countOf, prepareAtServers, type SliceContext, type Workload } from "./workload.ts";

interface Setting {
  readonly servers: number;
  readonly atATime: number;
  readonly roundTripMs?: number;
}

const cycleColumns = ["pairsPerSecond", "pairP50Ms", "pairP99Ms", "clientCpuUs", "serverCpuUs", "cpuUs"] as const;
/** Contenders of quick runs. */
export const quickContenders: readonly string[] = [
  ...["holdfast/ioredis", "holdfast/node-redis", "redlock 5 beta", "redis-semaphore", "raw ioredis, fenced"],
];
const overheadMs = 50; // to read what the servers used
const estimateMs = ({ sliceMs, settleMs }: Scale): number => sliceMs + settleMs + overheadMs;

export const uncontended: Workload = {
  ...{ name: "uncontended", title: "Without a network", contenders, quickContenders, estimateMs },
  description:
    "One process acquires and releases keys that no other client wants, at full speed. Client and servers share the cores " +
    "of one machine, so the figures compare the work of the libraries.",
  columns: [...cycleColumns, "failed"],
  cells: [1, 3, 5].flatMap((servers) =>
    [1, 10, 100].map((atATime) =>
      cellOf({ servers, atATime }, atATime === 100 ? servers !== 3 : servers * atATime === 1),
    ),
  ),
};

export const roundTrips: Workload = {
  ...{ name: "round-trips", title: "With a network", contenders, quickContenders, estimateMs },
  description:
    "The same over a network: a process between client and servers delays all bytes, so that a round trip to a majority of " +
    "the servers takes half a millisecond. A pair takes two round trips.",
  columns: [...cycleColumns, "networkMs", "failed"],
  cells: [1, 3, 5].map((servers) => cellOf({ servers, atATime: 1, roundTripMs: 0.5 }, servers === 3)),
};

function cellOf(setting: Setting, isQuick: boolean): Cell {
  const { servers, atATime, roundTripMs } = setting;
  const network = roundTripMs === undefined ? "" : `, round trips of ${roundTripMs} ms`;
  return {
    ...{ servers, atATime, isQuick, ...(roundTripMs !== undefined && { roundTripMs }) },
    name: `${countOf(servers, "server")}, ${atATime} at a time${network}`,
    measure: (context) => measure(context, setting),
  };
}

async function measure(context: SliceContext, setting: Setting): Promise<Figures> {
  const { scale, servers } = context;
  const process = context.process(0);
  const keyPrefix = `bench:${process.pid}`;
  const cycle = (durationMs: number): Promise<CycleOutcome> => {
    const request = { keyPrefix, keysPerLock: 1, workers: setting.atATime, durationMs };
    return process.call("cycle", durationMs + callTimeoutMs, request);
  };
  const network = await prepareAtServers(context, setting, [process], cycle);
  await cycle(scale.settleMs);
  const watch = await servers.watch(setting.servers);
  const outcome = await cycle(scale.sliceMs);
  const usage = await watch();
  return { ...figuresOf(outcome, usage.cpuUs), ...network };
}

/** The figures of a slice at full speed. */
export function figuresOf(outcome: CycleOutcome, serversUs: number): Figures {
  const { pairs, seconds, failed, stuck, pairP50Ms, pairP99Ms, cpuUs: clientUs } = outcome;
  const rates = { pairsPerSecond: pairs / seconds, failed, stuck };
  if (pairs === 0) return rates;
  const [clientCpuUs, serverCpuUs] = [clientUs / pairs, serversUs / pairs];
  return { ...rates, pairP50Ms, pairP99Ms, clientCpuUs, serverCpuUs, cpuUs: clientCpuUs + serverCpuUs };
}
