import type { LockNode } from "@holdfast/core";
import { type MemoryNode, memoryNode } from "@holdfast/memory";

/** A memory node that can die, and come back without its memory. */
export interface MortalNode {
  readonly node: LockNode;
  /** From now on the node fails to answer. What it knew is lost. */
  kill(): void;
  /** Answers again, as a node that has just been set up. */
  restart(): void;
}

/** Makes one that is alive. */
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
