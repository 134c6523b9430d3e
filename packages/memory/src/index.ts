/** A lock node in this process. */

export { type MemoryNode, type MemoryNodeOptions, memoryNode } from "./memory-node.ts";
