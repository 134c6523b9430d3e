/** A process that measures one thing: says that it is ready, measures when it is told to, and sends its figures. */
import { once } from "node:events";
import { prepareContention } from "./contention.ts";
import { measureHang } from "./hang.ts";
import { measurePauses } from "./pauses.ts";
import type { Figures, PlacedOrder } from "./plan.ts";
import { measureStall } from "./stall.ts";
import { measureTries } from "./tries.ts";

process.on("disconnect", () => process.exit(1)); // the parent has gone
const measure = await prepare(JSON.parse(process.argv[2] ?? "") as PlacedOrder);
process.send?.("ready");
await once(process, "message");
const figures = await measure();
process.send?.(figures, () => process.exit(0)); // whatever still waits

async function prepare({ order, servers }: PlacedOrder): Promise<() => Promise<Figures>> {
  switch (order.measure) {
    case "contention":
      return prepareContention(order.plans, servers, order.ms);
    case "stall":
      return () => measureStall(order.crowd, servers);
    case "tries":
      return () => measureTries(order.maxWaiters, servers);
    case "pauses":
      return () => measurePauses(servers);
    case "hang":
      return () => measureHang(order.ms, servers);
  }
}
