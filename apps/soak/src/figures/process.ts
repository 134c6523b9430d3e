/** A process that takes one measurement. */
import { serveParent } from "@holdfast/app-kit/worker";
import { prepareContention } from "./contention.ts";
import { measureHang } from "./hang.ts";
import { measurePauses } from "./pauses.ts";
import type { Figures, Order, ServerAddress } from "./plan.ts";
import { measureStall } from "./stall.ts";
import { measureTries } from "./tries.ts";

let measure: () => Promise<Figures>;

const functions = {
  /** Connects to the servers. */
  async prepare(order: Order, servers: readonly ServerAddress[]): Promise<void> {
    measure = await prepare(order, servers);
  },
  measure: (): Promise<Figures> => measure(),
};

/** The functions that the parent calls. */
export type MeasureFunctions = typeof functions;

serveParent(functions);

async function prepare(order: Order, servers: readonly ServerAddress[]): Promise<() => Promise<Figures>> {
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
