/** Attacks on connections. */
import type { ChaosNode } from "../world/node.ts";
import type { Nemesis } from "./nemesis.ts";
import { againAndAgain, onNodes } from "./strikes.ts";

const restore = ({ proxy }: ChaosNode): Promise<void> => proxy.start();

/** Cuts a node off: resets its connections, and refuses new ones. */
export async function isolate({ proxy }: ChaosNode): Promise<void> {
  await proxy.refuse();
  proxy.cut();
}

export const networkNemeses: readonly Nemesis[] = [
  {
    name: "unreachable",
    description: "connections to a minority are reset, and new ones refused",
    kind: "survivable",
    nodes: "minority",
    clients: 0,
    attack: onNodes("unreachable", isolate, restore),
  },
  {
    name: "delay",
    description: "every message takes longer, by less than the node timeout",
    kind: "survivable",
    nodes: "all",
    clients: 0,
    attack: onNodes("delayed", ({ proxy }, { ttlMs }) => proxy.delay(ttlMs / 50), restore),
  },
  {
    name: "late",
    description: "a minority's replies arrive after the node timeout: grants that no client waits for",
    kind: "survivable",
    nodes: "minority",
    clients: 0,
    attack: onNodes("replies late", ({ proxy }, { ttlMs }) => proxy.delay(ttlMs / 10), restore),
  },
  {
    name: "throttle",
    description: "a minority's connections carry 4 kB a second",
    kind: "survivable",
    nodes: "minority",
    clients: 0,
    attack: onNodes("throttled", ({ proxy }) => proxy.throttle(4_000), restore),
  },
  {
    name: "lose-requests",
    description: "no request reaches a minority until the fault ends",
    kind: "survivable",
    nodes: "minority",
    clients: 0,
    attack: onNodes("requests held", ({ proxy }) => proxy.stall("requests"), restore),
  },
  {
    name: "lose-replies",
    description: "a minority carries out all requests, and no reply arrives until the fault ends",
    kind: "survivable",
    pictured: true,
    nodes: "minority",
    clients: 0,
    attack: onNodes("replies held", ({ proxy }) => proxy.stall("replies"), restore),
  },
  {
    name: "half-open",
    description: "a minority has lost its connections, and the clients do not notice",
    kind: "survivable",
    nodes: "minority",
    clients: 0,
    attack: onNodes("half-open", ({ proxy }) => proxy.halfOpen(), restore),
  },
  {
    name: "reset",
    description: "a minority's connections are reset repeatedly",
    kind: "survivable",
    nodes: "minority",
    clients: 0,
    attack: againAndAgain("resets", 60, ({ proxy }) => proxy.cut()),
  },
];
