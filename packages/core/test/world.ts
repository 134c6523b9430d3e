import { type Lock, type Observer, Redlock, type RedlockOptions } from "@holdfast/core";
import { type MemoryNode, memoryNode } from "@holdfast/memory";
import { FaultyNode, VirtualClock } from "@holdfast/testkit";
import { expect } from "vitest";
import { observerNames } from "../src/safe-observer.ts";

/** Nodes named a, b, c, … behind faulty networks, and a client of all of them, on one virtual clock. */
export interface World {
  readonly clock: VirtualClock;
  readonly nodes: readonly FaultyNode[];
  /** Returns the node with this name. */
  node(name: string): FaultyNode;
  /** The same nodes without the network. */
  readonly inner: readonly MemoryNode[];
  readonly redlock: Redlock;
  /** The events that the observer received: `[name, event]`. */
  readonly events: [name: string, event: Record<string, unknown>][];
  /** Returns the requests of one method that the node with this name received. */
  requests(name: string, method: "acquire" | "extend" | "release"): FaultyNode["calls"][number]["request"][];
  /** Creates another client of the same nodes, without a network in between. */
  otherClient(options?: RedlockOptions): Redlock;
  /** Returns the names of the nodes on which the resource is held. */
  heldOn(resource: string): Promise<string[]>;
  /** Lets time pass, and expects that no claim of the resource and no timer is left. */
  expectNothingLeft(afterMs?: number, resource?: string): Promise<void>;
}

/** Creates a world. By default, a node has 50 ms to reply, whatever the ttl. */
export function world(nodeCount: number, options: RedlockOptions = {}): World {
  const clock = new VirtualClock();
  const inner = Array.from({ length: nodeCount }, (_, index) =>
    memoryNode({ name: String.fromCharCode("a".charCodeAt(0) + index), clock }),
  );
  const nodes = inner.map((node) => new FaultyNode(node, clock));
  const events: World["events"] = [];
  const redlock = new Redlock(nodes, { clock, observer: recorder(events), nodeTimeoutMs: 50, ...options });
  const nodeOf = (name: string): FaultyNode => {
    const node = nodes.find((candidate) => candidate.name === name);
    if (node === undefined) throw new Error(`no node ${name}`);
    return node;
  };
  const heldOn = async (resource: string): Promise<string[]> => {
    const views = await Promise.all(inner.map((node) => node.inspect(resource)));
    return inner.filter((_, index) => views[index]?.owner != null).map(({ name }) => name);
  };
  return {
    clock,
    nodes,
    node: nodeOf,
    requests: (name, method) =>
      nodeOf(name)
        .callsOf(method)
        .map(({ request }) => request),
    inner,
    redlock,
    events,
    otherClient: (otherOptions = {}) => new Redlock(inner, { clock, nodeTimeoutMs: 50, ...otherOptions }),
    heldOn,
    async expectNothingLeft(afterMs = 0, resource = "r") {
      if (afterMs > 0) await clock.advance(afterMs);
      expect({ heldOn: await heldOn(resource), timers: clock.pendingTimers }).toEqual({ heldOn: [], timers: 0 });
    },
  };
}

function recorder(events: World["events"]): Observer {
  return Object.fromEntries(
    observerNames.map((name) => [name, (event: Record<string, unknown>) => void events.push([name, event])]),
  );
}

/** Creates a world whose client has a lock on `r`. */
export async function held(nodeCount: number, options?: RedlockOptions): Promise<World & { readonly lock: Lock }> {
  const it = world(nodeCount, options);
  return { ...it, lock: await it.clock.until(it.redlock.acquire("r")) };
}

/** Counts the watches of these nodes that are open. */
export function countWatches(nodes: readonly FaultyNode[]): () => number {
  let open = 0;
  for (const node of nodes) {
    const { watch } = node;
    node.watch = async (...args) => {
      const unwatch = await watch?.apply(node, args);
      open += 1;
      return async () => {
        open -= 1;
        await unwatch?.();
      };
    };
  }
  return () => open;
}

/** Lets another owner take a resource from a lock on these nodes, as after they have lost their claims. */
export async function steal(nodes: readonly MemoryNode[], resource: string, owner: string): Promise<void> {
  for (const node of nodes) {
    await node.release({ resources: [resource], owner, timeoutMs: 50 });
    await node.acquire(claimOf("thief", resource));
  }
}

/** Returns the request with which another owner claims a resource on one node. */
export function claimOf(owner: string, resource: string, ttlMs = 10_000) {
  return { resources: [resource], owner, ttlMs, fenceHint: 1, timeoutMs: 50 };
}
