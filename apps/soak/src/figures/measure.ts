import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { RedisServer } from "@holdfast/testkit";
import type { Figures, Order, PlacedOrder } from "./plan.ts";

const program = fileURLToPath(new URL("./process.ts", import.meta.url));
const execArgv = ["--conditions=@holdfast/source", "--import", "tsx", "--expose-gc"];

/** What takes longer counts as never ending. */
const limitMs = 90_000;

/**
 * Carries out an order in fresh processes, and resolves with their figures; without any, when they do not end in time.
 * Over servers, parties that contend have a process for each plan.
 */
export async function measure(order: Order, servers: readonly RedisServer[]): Promise<Figures> {
  await Promise.all(servers.map((server) => server.command("FLUSHALL")));
  const addresses = servers.map(({ url, pid }) => ({ url, pid }));
  const orders: readonly Order[] =
    order.measure === "contention" && servers.length > 0
      ? order.plans.map((plan) => ({ ...order, plans: [plan] }))
      : [order];
  const children = orders.map((order) => {
    const placed: PlacedOrder = { order, servers: addresses };
    return fork(program, [JSON.stringify(placed)], { execArgv, stdio: ["ignore", "inherit", "inherit", "ipc"] });
  });
  const timer = setTimeout(() => {
    for (const child of children) child.kill("SIGKILL");
  }, limitMs);
  const messageOf = async (child: (typeof children)[number]): Promise<Figures> => {
    const [message] = await Promise.race([once(child, "message"), once(child, "exit").then(() => [{}])]);
    return message as Figures;
  };
  await Promise.all(children.map(messageOf));
  for (const child of children) if (child.connected) child.send("go");
  const figures = await Promise.all(children.map(messageOf));
  clearTimeout(timer);
  for (const server of servers) server.resume();
  return Object.assign({}, ...figures);
}
