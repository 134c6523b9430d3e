/** Attacks on connections. */
import type { ChaosNode } from "../world/node.ts";
import type { Nemesis } from "./nemesis.ts";
import { againAndAgain, onNodes, survivable } from "./strikes.ts";

const restore = ({ proxy }: ChaosNode): Promise<void> => proxy.start();

export const networkNemeses: readonly Nemesis[] = [
  {
    ...survivable,
    name: "unreachable",
    description: "connections to a minority are reset, and new ones refused",
    attack: onNodes("unreachable", ({ proxy }) => proxy.stop(), restore),
  },
  {
    ...survivable,
    nodes: "all",
    name: "delay",
    description: "every message takes longer, by less than the node timeout",
    attack: onNodes("delayed", ({ proxy }, { ttlMs }) => proxy.delay(ttlMs / 50), restore),
  },
  {
    ...survivable,
    name: "late",
    description: "a minority's replies arrive after the node timeout: grants that no client waits for",
    attack: onNodes("replies late", ({ proxy }, { ttlMs }) => proxy.delay(ttlMs / 10), restore),
  },
  {
    ...survivable,
    name: "throttle",
    description: "a minority's connections carry 4 kB a second",
    attack: onNodes("throttled", ({ proxy }) => proxy.throttle(4_000), restore),
  },
  {
    ...survivable,
    name: "lose-requests",
    description: "no request reaches a minority until the fault ends",
    attack: onNodes("requests held", ({ proxy }) => proxy.stall("requests"), restore),
  },
  {
    ...survivable,
    name: "lose-replies",
    description: "a minority carries out all requests, and no reply arrives until the fault ends",
    pictured: true,
    attack: onNodes("replies held", ({ proxy }) => proxy.stall("replies"), restore),
  },
  {
    ...survivable,
    name: "half-open",
    description: "a minority has lost its connections, and the clients do not notice",
    attack: onNodes("half-open", ({ proxy }) => proxy.halfOpen(), restore),
  },
  {
    ...survivable,
    name: "reset",
    description: "a minority's connections are reset repeatedly",
    attack: againAndAgain("resets", 60, ({ proxy }) => proxy.cut()),
  },
];
