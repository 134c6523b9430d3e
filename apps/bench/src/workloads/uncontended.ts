/** Keys that no other client wants: at full speed, over a network, and with client and servers on separate cores. */
import type { Contender } from "../contenders/contender.ts";
import { uncontended as everyContender, librariesAndRaw } from "../contenders/index.ts";
import { separateCores, whyNotPinned } from "../cores.ts";
import type { Figures } from "../measure/measures.ts";
import type { CycleOutcome } from "../process/calls.ts";
import type { Scale } from "../scale.ts";
import { warmUp } from "./warm-up.ts";
import { type Cell, callTimeoutMs, countOf, type SliceContext, type Workload, withOpen } from "./workload.ts";

interface Setting {
  readonly servers: number;
  readonly atATime: number;
  readonly roundTripMs?: number;
  readonly onSeparateCores?: boolean;
}

const columns = ["pairsPerSecond", "pairP50Ms", "pairP99Ms", "clientCpuUs", "serverCpuUs", "failed"] as const;
const quickContenders = [
  ...["holdfast/ioredis", "holdfast/node-redis", "redlock 5 beta", "@sesamecare-oss/redlock", "redis-semaphore"],
  "raw ioredis",
];
const overheadMs = 150; // to connect, settle and read what the servers used
const estimateMs = ({ sliceMs, settleMs }: Scale): number => sliceMs + settleMs + overheadMs;

export const uncontended: Workload = {
  ...{ name: "uncontended", title: "Without a network", columns, estimateMs },
  quickContenders: [...quickContenders, "raw ioredis, fenced", "raw ioredis, fenced, batching"],
  description:
    "One process acquires and releases keys that no other client wants, at full speed. Client and servers share the cores " +
    "of one machine, so the figures compare the work of the libraries.",
  contenders: everyContender,
  cells: [1, 3, 5].flatMap((servers) =>
    [1, 10, 100, 1_000].map((atATime) => cellOf({ servers, atATime }, servers !== 3 && atATime < 1_000)),
  ),
};

export const roundTrips: Workload = {
  ...{ name: "round-trips", title: "With a network", columns, quickContenders, estimateMs },
  description:
    "The same over a network: a process between client and servers delays all bytes by half a round trip in each " +
    "direction. A pair takes two round trips.",
  contenders: withoutClient("raw node-redis"),
  cells: [3, 5].flatMap((servers) =>
    [0.5, 2, 20].flatMap((roundTripMs) =>
      [1, 10].map((atATime) => cellOf({ servers, atATime, roundTripMs }, servers === 5 && roundTripMs === 2)),
    ),
  ),
};

export const separateCoresWorkload: Workload = {
  ...{ name: "separate-cores", title: "Client and servers on separate cores", columns, quickContenders },
  estimateMs: (scale) => estimateMs(scale) + 50,
  description:
    "The same without a network, with the client on one core and all servers on the others, so that they do not compete " +
    "for a core.",
  contenders: librariesAndRaw,
  cells: [1, 5].flatMap((servers) =>
    [1, 100].map((atATime) => cellOf({ servers, atATime, onSeparateCores: true }, servers === 5 && atATime === 100)),
  ),
  whyNot: whyNotPinned,
};

function withoutClient(name: string): readonly Contender[] {
  return librariesAndRaw.filter((contender) => contender.name !== name);
}

function cellOf(setting: Setting, isQuick: boolean): Cell {
  const { servers, atATime, roundTripMs } = setting;
  const network = roundTripMs === undefined ? "" : `, round trips of ${roundTripMs} ms`;
  return {
    ...{ servers, atATime, isQuick, processes: 1, ...(roundTripMs !== undefined && { roundTripMs }) },
    name: `${countOf(servers, "server")}, ${atATime.toLocaleString("en")} at a time${network}`,
    measure: (context) => measure(context, setting),
  };
}

async function measure(context: SliceContext, setting: Setting): Promise<Figures> {
  const { scale, keyPrefix, servers } = context;
  const process = context.process(0);
  const cycle = (part: string, durationMs: number): Promise<CycleOutcome> => {
    const request = { keyPrefix: `${keyPrefix}:${part}`, keysPerLock: 1, workers: setting.atATime, durationMs };
    return process.call("cycle", durationMs + callTimeoutMs, request);
  };
  await servers.empty(setting.servers);
  const restoreCores = setting.onSeparateCores
    ? await separateCores(process.pid, await servers.pids(setting.servers))
    : async () => {};
  try {
    const work = `${setting.atATime} at a time`;
    if (!process.warmedUp.has(work)) {
      // Without the network, on which a process would do too little to become fast.
      const warmUpPart = (durationMs: number) => cycle("warm-up", durationMs).then(({ pairs, cpuUs }) => pairs / cpuUs);
      await withOpen(context, { servers: setting.servers }, [process], () => warmUp(process, work, scale, warmUpPart));
    }
    return await withOpen(context, setting, [process], async () => {
      await cycle("settle", scale.settleMs);
      const watch = await servers.watch(setting.servers);
      const outcome = await cycle("measured", scale.sliceMs);
      const usage = await watch();
      if (outcome.stuck > 0) process.kill();
      return figuresOf(outcome, usage.cpuUs);
    });
  } finally {
    await restoreCores();
  }
}

/** The figures of a slice at full speed. */
export function figuresOf(outcome: CycleOutcome, serverCpuUs: number): Figures {
  const { pairs, seconds, failed, stuck, pairP50Ms, pairP99Ms, cpuUs } = outcome;
  const rates = { pairsPerSecond: pairs / seconds, failed, stuck };
  if (pairs === 0) return rates;
  return { ...rates, pairP50Ms, pairP99Ms, clientCpuUs: cpuUs / pairs, serverCpuUs: serverCpuUs / pairs };
}
