import { connectNodes } from "@holdfast/app-kit/nodes";
import type { LockNode } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import type { Figures } from "../../measure/measures.ts";
import { type Crowd, measureStall, measureTries } from "./crowds.ts";
import { measureHang } from "./hang.ts";
import { measurePauses } from "./pauses.ts";

/** What a process measures that waits for locks. */
export type WaitOrder =
  | { readonly what: "stall"; readonly crowd: Crowd }
  | { readonly what: "tries"; readonly maxWaiters: number }
  | { readonly what: "pauses" }
  | { readonly what: "hang"; readonly ms: number };

/** A real server. */
export interface Target {
  readonly port: number;
  readonly pid: number;
}

/** Measures over these servers, or over nodes in this process if there are none. */
export async function measureWaiting(order: WaitOrder, servers: readonly Target[]): Promise<Figures> {
  const ports = servers.map(({ port }) => port);
  const open = async (): Promise<readonly LockNode[]> =>
    ports.length === 0 ? Array.from({ length: 5 }, () => memoryNode()) : (await connectNodes("ioredis", ports)).nodes;
  if (order.what === "stall") return measureStall(order.crowd, open);
  if (order.what === "tries") return measureTries(order.maxWaiters, await open());
  if (order.what === "hang") return measureHang(order.ms, servers, await open());
  return measurePauses(await open());
}
