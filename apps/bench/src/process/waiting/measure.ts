import { connectNodes } from "@holdfast/app-kit/nodes";
import type { LockNode } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import type { Figures } from "../../measure/measures.ts";
import type { Target, WaitOrder } from "../calls.ts";
import { measureStall, measureTries } from "./crowds.ts";
import { measureHang } from "./hang.ts";
import { measurePauses } from "./pauses.ts";

/** Measures over these servers, or over nodes in this process if there are none. */
export async function measureWaiting(order: WaitOrder, servers: readonly Target[]): Promise<Figures> {
  const open = async (): Promise<readonly LockNode[]> =>
    servers.length === 0
      ? Array.from({ length: 5 }, () => memoryNode())
      : (
          await connectNodes(
            "ioredis",
            servers.map(({ port }) => port),
          )
        ).nodes;
  if (order.what === "stall") return measureStall(order.crowd, open);
  if (order.what === "tries") return measureTries(order.maxWaiters, await open());
  if (order.what === "hang") return measureHang(order.ms, servers, await open());
  return measurePauses(await open());
}
