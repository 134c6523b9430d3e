import { Redlock, type RedlockOptions } from "@holdfast/core";
import { type MemoryNode, memoryNode } from "@holdfast/memory";
import { FaultyNode, VirtualClock } from "@holdfast/testkit";

/** Clients in separate processes, each with a network of its own to the same nodes. */
export interface Crowd {
  readonly clock: VirtualClock;
  readonly inner: readonly MemoryNode[];
  readonly clients: readonly { readonly redlock: Redlock; readonly nodes: readonly FaultyNode[] }[];
  /** The `Redlock` of each client. */
  readonly redlocks: readonly Redlock[];
  /** Resolves after a time. */
  pause(ms: number): Promise<void>;
}

/** Creates a crowd. Each message, and each announcement of a release, travels for `travelMs()`. */
export function crowd(
  clientCount: number,
  nodeCount: number,
  travelMs: () => number,
  options: RedlockOptions = {},
): Crowd {
  const clock = new VirtualClock();
  const inner = Array.from({ length: nodeCount }, (_, index) => memoryNode({ name: `node ${index}`, clock }));
  const clients = Array.from({ length: clientCount }, () => {
    const nodes = inner.map((node) => {
      const faulty = new FaultyNode(node, clock);
      faulty.fault = () => ({ requestMs: travelMs(), replyMs: travelMs() });
      faulty.announcement = (deliver) => clock.deliver(travelMs(), deliver);
      return faulty;
    });
    return { nodes, redlock: new Redlock(nodes, { clock, waitTimeoutMs: 30_000, ...options }) };
  });
  const pause = (ms: number): Promise<void> => new Promise((resolve) => clock.deliver(ms, resolve));
  return { clock, inner, clients, redlocks: clients.map(({ redlock }) => redlock), pause };
}

/** Returns a generator of reproducible random numbers from 0 to 1. */
export function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
