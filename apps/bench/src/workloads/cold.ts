import { uncontended as contenders } from "../contenders/index.ts";
import type { Figures } from "../measure/measures.ts";
import { quickContenders } from "./uncontended.ts";
import { type Cell, callTimeoutMs, countOf, open, type SliceContext, type Workload } from "./workload.ts";

/** About as many as V8 runs before it compiles most of a library. */
const pairs = 500;

export const cold: Workload = {
  ...{ name: "cold", title: `The first ${pairs} pairs of a process`, contenders, quickContenders },
  description:
    `A new process loads the library, connects, and then acquires and releases keys that no other client wants, one at a ` +
    `time. The figures cover the first ${pairs} pairs, without loading and connecting. V8 interprets most of the code at that ` +
    "point, and many applications never lock often enough to get further.",
  cells: [1, 3, 5].map(cellOf),
  columns: ["clientCpuUs", "firstPairsMs", "serverCpuUs"],
  roundsMax: 5,
  isCold: true,
  estimateMs: () => 900,
};

function cellOf(servers: number): Cell {
  const name = countOf(servers, "server");
  return { name, servers, atATime: 1, isQuick: servers === 1, measure: (context) => measure(context, servers) };
}

async function measure(context: SliceContext, count: number): Promise<Figures> {
  const { keyPrefix, servers } = context;
  const process = context.process(0);
  const place = await servers.at(count);
  await open(context, place, [process]);
  const watch = await place.watch();
  const { tookMs, cpuUs } = await process.call("first", callTimeoutMs, { keyPrefix, pairs });
  const usage = await watch();
  process.kill();
  return { clientCpuUs: cpuUs / pairs, firstPairsMs: tookMs, serverCpuUs: usage.cpuUs / pairs };
}
