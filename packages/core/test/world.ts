import { type Observer, Redlock, type RedlockOptions } from "@holdfast/core";
import { type MemoryNode, memoryNode } from "@holdfast/memory";
import { FaultyNode, VirtualClock } from "@holdfast/testkit";

/** Nodes named a, b, c, … behind faulty networks, and a client of all of them, on one virtual clock. */
export interface World {
  readonly clock: VirtualClock;
  readonly nodes: readonly FaultyNode[];
  /** One of them. */
  node(name: string): FaultyNode;
  /** The nodes without the network. */
  readonly inner: readonly MemoryNode[];
  readonly redlock: Redlock;
  /** What the observer was told: `[name, event]`. */
  readonly events: [name: string, event: Record<string, unknown>][];
  /** Another client of the same nodes, behind no network at all. */
  rival(options?: RedlockOptions): Redlock;
  /** The nodes on which somebody holds the resource now. */
  heldOn(resource: string): Promise<string[]>;
}

/** A node has 50 ms to answer, whatever the ttl, unless the options say otherwise. */
export function world(nodeCount: number, options: RedlockOptions = {}): World {
  const clock = new VirtualClock();
  const inner = Array.from({ length: nodeCount }, (_, index) =>
    memoryNode({ name: String.fromCharCode("a".charCodeAt(0) + index), clock }),
  );
  const nodes = inner.map((node) => new FaultyNode(node, clock));
  const events: World["events"] = [];
  const redlock = new Redlock(nodes, { clock, observer: recorder(events), nodeTimeoutMs: 50, ...options });
  return {
    clock,
    nodes,
    node: (name) => {
      const node = nodes.find((candidate) => candidate.name === name);
      if (node === undefined) throw new Error(`no node ${name}`);
      return node;
    },
    inner,
    redlock,
    events,
    rival: (rivalOptions = {}) => new Redlock(inner, { clock, nodeTimeoutMs: 50, ...rivalOptions }),
    heldOn: async (resource) => {
      const views = await Promise.all(inner.map((node) => node.inspect(resource)));
      return inner.filter((_, index) => views[index]?.owner != null).map(({ name }) => name);
    },
  };
}

function recorder(events: World["events"]): Observer {
  const names = ["attemptSettled", "acquired", "acquireFailed", "extended", "released", "lost", "nodeFailed"] as const;
  return Object.fromEntries(
    names.map((name) => [name, (event: Record<string, unknown>) => void events.push([name, event])]),
  );
}

/** A request that the claim of another owner makes to one node, to stand in its way there. */
export function claimOf(owner: string, resource: string, ttlMs = 10_000) {
  return { resources: [resource], owner, ttlMs, fenceHint: 1, timeoutMs: 50 };
}
