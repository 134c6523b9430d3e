import { counted as contenders } from "../contenders/index.ts";
import type { Figures } from "../measure/measures.ts";
import { type Cell, callTimeoutMs, open, type SliceContext, type Workload } from "./workload.ts";

const servers = 5;
/** How many locks are counted. */
const locks = 200;

export const counts: Workload = {
  name: "counts",
  title: "What a lock costs, counted",
  description:
    "Locks on five servers that no other client wants: acquired and released one after another, or a hundred acquired in " +
    "one tick and released in one. These figures do not depend on the machine.",
  contenders,
  quickContenders: ["holdfast/ioredis", "holdfast/node-redis", "raw ioredis"],
  cells: [cellOf("one at a time", 1), cellOf("100 in one tick", 100)],
  columns: ["commandsPerNode", "writesPerNode", "bytesPerLock", "timersPerLock", "promisesPerLock"],
  roundsMax: 1,
  isCold: true,
  ignoresLoad: true,
  estimateMs: () => 1_000,
};

function cellOf(name: string, atATime: number): Cell {
  return { name, servers, atATime, isQuick: true, measure: (context) => measure(context, atATime) };
}

async function measure(context: SliceContext, atOnce: number): Promise<Figures> {
  const { keyPrefix } = context;
  const process = context.process(0);
  const place = await context.servers.at(servers);
  await open(context, place, [process], true);
  const request = { keyPrefix, atOnce, times: locks / atOnce };
  await process.call("count", callTimeoutMs, request); // makes what is made once
  const watch = await place.watch();
  const outcome = await process.call("count", callTimeoutMs, request);
  const { bytes } = await watch();
  process.kill();
  return {
    promisesPerLock: outcome.promises / outcome.locks,
    timersPerLock: outcome.timers / outcome.locks,
    commandsPerNode: outcome.commands / outcome.locks / servers,
    writesPerNode: outcome.writes / outcome.locks / servers,
    bytesPerLock: bytes / outcome.locks,
  };
}
