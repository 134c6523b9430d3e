/** Attacks on connections. */
import type { Nemesis } from "./nemesis.ts";
import { againAndAgain, onConnections, onProxies, survivable } from "./strikes.ts";

export const networkNemeses: readonly Nemesis[] = [
  {
    ...survivable,
    name: "unreachable",
    description: "connections to a minority are reset, and new ones refused",
    attack: onConnections("unreachable", (proxy) => proxy.stop()),
  },
  {
    ...survivable,
    nodes: "all",
    name: "delay",
    description: "every message takes longer, by less than the node timeout",
    attack: onConnections("delayed", (proxy, { ttlMs }) => proxy.delay(ttlMs / 50)),
  },
  {
    ...survivable,
    name: "late",
    description: "a minority's replies arrive after the node timeout: grants that no client waits for",
    attack: onConnections("replies late", (proxy, { ttlMs }) => proxy.delay(ttlMs / 10)),
  },
  {
    ...survivable,
    name: "throttle",
    description: "a minority's connections carry 4 kB a second",
    attack: onConnections("throttled", (proxy) => proxy.throttle(4_000)),
  },
  {
    ...survivable,
    name: "lose-requests",
    description: "no request reaches a minority until the fault ends",
    attack: onConnections("requests held", (proxy) => proxy.stall("requests")),
  },
  {
    ...survivable,
    name: "lose-replies",
    description: "a minority carries out all requests, and no reply arrives until the fault ends",
    attack: onConnections("replies held", (proxy) => proxy.stall("replies")),
  },
  {
    ...survivable,
    name: "half-open",
    description: "a minority has lost its connections, and the clients do not notice",
    attack: onConnections("half-open", (proxy) => proxy.halfOpen()),
  },
  {
    ...survivable,
    name: "reset",
    description: "a minority's connections are reset repeatedly",
    attack: againAndAgain(
      "resets",
      60,
      onProxies((proxy) => proxy.cut()),
    ),
  },
];
