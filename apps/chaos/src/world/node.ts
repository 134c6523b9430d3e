import { startServer } from "@holdfast/app-kit/servers";
import { startTcpProxy, type TcpProxy } from "@holdfast/conformance/tcp-proxy";
import type { RedisServer } from "@holdfast/testkit";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import type { FakeClock } from "./fake-clock.ts";

/** A server that holds the locks, and the proxies before it. */
export interface ChaosNode {
  /** Its name, such as `n1`. */
  readonly name: string;
  readonly server: RedisServer;
  /** The arguments with which it was started. */
  readonly args: readonly string[];
  /** The proxy of each client, if clients connect to proxies. */
  readonly proxies: readonly TcpProxy[];
  /** Its time of day, if the run has clocks that can be set. */
  readonly clock: FakeClock | undefined;
}

/** Starts a node, and that many proxies. */
export async function startNode(
  { name, args, clock }: Pick<ChaosNode, "name" | "args" | "clock">,
  proxyCount: number,
  cleanup: Cleanup,
): Promise<ChaosNode> {
  const server = await startServer(cleanup, { args, env: clock?.env ?? {} });
  const { port } = server;
  const proxies = await Promise.all(Array.from({ length: proxyCount }, () => startTcpProxy({ port })));
  for (const proxy of proxies) cleanup.defer(() => proxy.close());
  return { name, server, args, proxies, clock };
}
