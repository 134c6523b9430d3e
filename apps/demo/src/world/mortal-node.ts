import type { LockNode } from "@holdfast/core";
import { type MemoryNode, memoryNode } from "@holdfast/memory";

/** A memory node that can die, and come back empty. */
export interface MortalNode {
  readonly node: LockNode;
  /** Makes all calls fail, and discards all claims and counters. */
  kill(): void;
  /** Starts again as an empty node. */
  restart(): void;
}

/** Makes a living node. */
export function mortalNode(name: string): MortalNode {
  let living: MemoryNode | null = memoryNode({ name });
  const ask = async <Reply>(question: (node: MemoryNode) => Promise<Reply>): Promise<Reply> => {
    if (living === null) throw new Error("connection refused");
    return question(living);
  };
  return {
    node: {
      name,
      acquire: (request) => ask((node) => node.acquire(request)),
      extend: (request) => ask((node) => node.extend(request)),
      release: (request) => ask((node) => node.release(request)),
      watch: (resources, onReleased) => ask((node) => node.watch(resources, onReleased)),
      inspect: (resource) => ask((node) => node.inspect(resource)),
    },
    kill() {
      living = null;
    },
    restart() {
      living = memoryNode({ name });
    },
  };
}
