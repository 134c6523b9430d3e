import { startTcpProxy, type TcpProxy } from "@holdfast/conformance/tcp-proxy";
import type { RedisServer } from "@holdfast/testkit";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import type { FakeClock } from "./fake-clock.ts";
import { startServer } from "./servers.ts";

/** A server that holds the locks, and the proxy before it. */
export interface ChaosNode {
  /** Its name, such as `n1`. */
  readonly name: string;
  readonly server: RedisServer;
  /** The arguments with which it was started. */
  readonly args: readonly string[];
  /** A proxy that clients may connect to. */
  readonly proxy: TcpProxy;
  /** Its time of day, if the run has clocks that can be set. */
  readonly clock: FakeClock | undefined;
}

/** Starts a node. */
export async function startNode(
  name: string,
  args: readonly string[],
  clock: FakeClock | undefined,
  cleanup: Cleanup,
): Promise<ChaosNode> {
  const server = await startServer(cleanup, { args, env: clock?.env ?? {} });
  const proxy = await startTcpProxy({ port: server.port });
  cleanup.defer(() => proxy.close());
  return { name, server, args, proxy, clock };
}
