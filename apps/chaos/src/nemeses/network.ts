/** Attacks on connections. */
import type { Nemesis } from "./nemesis.ts";
import { againAndAgain, onNodes, onProxies, reconnect, survivable } from "./strikes.ts";

export const networkNemeses: readonly Nemesis[] = [
  {
    ...survivable,
    name: "unreachable",
    description: "connections to a minority are reset, and new ones refused",
    attack: onNodes(
      "unreachable",
      onProxies((proxy) => proxy.stop()),
      reconnect,
    ),
  },
  {
    ...survivable,
    nodes: "all",
    name: "delay",
    description: "every message takes longer, by less than the node timeout",
    attack: onNodes("delayed", (node, { ttlMs }) => onProxies((proxy) => proxy.delay(ttlMs / 50))(node), reconnect),
  },
  {
    ...survivable,
    name: "late",
    description: "a minority's replies arrive after the node timeout: grants that no client waits for",
    attack: onNodes(
      "replies late",
      (node, { ttlMs }) => onProxies((proxy) => proxy.delay(ttlMs / 10))(node),
      reconnect,
    ),
  },
  {
    ...survivable,
    name: "throttle",
    description: "a minority's connections carry 4 kB a second",
    attack: onNodes(
      "throttled",
      onProxies((proxy) => proxy.throttle(4_000)),
      reconnect,
    ),
  },
  {
    ...survivable,
    name: "lose-requests",
    description: "no request reaches a minority until the fault ends",
    attack: onNodes(
      "requests held",
      onProxies((proxy) => proxy.stall("requests")),
      reconnect,
    ),
  },
  {
    ...survivable,
    name: "lose-replies",
    description: "a minority carries out all requests, and no reply arrives until the fault ends",
    pictured: true,
    attack: onNodes(
      "replies held",
      onProxies((proxy) => proxy.stall("replies")),
      reconnect,
    ),
  },
  {
    ...survivable,
    name: "half-open",
    description: "a minority has lost its connections, and the clients do not notice",
    attack: onNodes(
      "half-open",
      onProxies((proxy) => proxy.halfOpen()),
      reconnect,
    ),
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
