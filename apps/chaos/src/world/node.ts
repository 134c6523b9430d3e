import type { TcpProxy } from "@holdfast/conformance/tcp-proxy";
import type { RedisServer } from "@holdfast/testkit";
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
