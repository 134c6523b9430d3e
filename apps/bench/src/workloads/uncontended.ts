/** Keys that no other client wants: at full speed, and over a network. */
import { uncontended as contenders } from "../contenders/index.ts";
import type { Figures } from "../measure/measures.ts";
import type { Calls } from "../process/main.ts";
import type { Scale } from "../scale.ts";
import type { Place } from "../servers.ts";
import { type Cell, callTimeoutMs, countOf, prepare, type SliceContext, type Workload } from "./workload.ts";

type Setting = Pick<Cell, "servers" | "atATime" | "roundTripMs">;

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
    ...{ ...setting, isQuick, name: `${countOf(servers, "server")}, ${atATime} at a time${network}` },
    async measure(context) {
      const keyPrefix = `bench:${context.process(0).pid}`;
      const place = await context.servers.at(servers, roundTripMs);
      return cycle(context, place, { keyPrefix, keysPerLock: 1, workers: atATime });
    },
  };
}

/** Acquires and releases keys that no other client wants, in one process. */
export async function cycle(
  context: SliceContext,
  place: Place,
  setting: Omit<Parameters<Calls["cycle"]>[0], "durationMs">,
): Promise<Figures> {
  const { scale } = context;
  const process = context.process(0);
  const run = (durationMs: number) => process.call("cycle", durationMs + callTimeoutMs, { ...setting, durationMs });
  const network = await prepare(context, place, [process], run);
  await run(scale.settleMs);
  const watch = await place.watch();
  const { pairs, seconds, failed, stuck, pairP50Ms, pairP99Ms, cpuUs } = await run(scale.sliceMs);
  const servers = await watch();
  const rates = { pairsPerSecond: pairs / seconds, failed, stuck, ...network };
  if (pairs === 0) return rates;
  const [clientCpuUs, serverCpuUs] = [cpuUs / pairs, servers.cpuUs / pairs];
  return { ...rates, pairP50Ms, pairP99Ms, clientCpuUs, serverCpuUs, cpuUs: clientCpuUs + serverCpuUs };
}
