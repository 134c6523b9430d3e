import { fileURLToPath } from "node:url";
import { startWorkerProcess } from "@holdfast/app-kit/worker-process";
import type { RedisServer } from "@holdfast/testkit";
import type { Figures, Order } from "./plan.ts";
import type { MeasureFunctions } from "./process.ts";

const program = fileURLToPath(new URL("./process.ts", import.meta.url));

/** A measurement that takes longer counts as endless. */
const limitMs = 90_000;

/**
 * Carries out an order in fresh processes, and resolves with their figures: none, if a process does not end in time. Over
 * servers, each plan of a contention has a process of its own.
 */
export async function measure(order: Order, servers: readonly RedisServer[]): Promise<Figures> {
  await Promise.all(servers.map((server) => server.command("FLUSHALL")));
  const addresses = servers.map(({ url, pid }) => ({ url, pid }));
  const orders: readonly Order[] =
    order.measure === "contention" && servers.length > 0
      ? order.plans.map((plan) => ({ ...order, plans: [plan] }))
      : [order];
  const workers = orders.map(() =>
    startWorkerProcess<MeasureFunctions>(program, { name: order.measure, execArgv: ["--expose-gc"] }),
  );
  try {
    await Promise.all(
      workers.map((worker, index) => worker.call("prepare", limitMs, orders[index] as Order, addresses)),
    );
    const figures = await Promise.all(workers.map((worker) => worker.call("measure", limitMs)));
    return Object.assign({}, ...figures);
  } catch (error) {
    if (/ hung: /.test(String(error))) return {};
    throw error;
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    for (const server of servers) server.resume();
  }
}
