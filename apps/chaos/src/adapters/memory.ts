import { memoryNode } from "@holdfast/memory";
import type { ChaosAdapter } from "../adapter.ts";

/** Lock nodes in the process of the client, instead of servers. */
export const connect: ChaosAdapter["connect"] = async (_, { names }) => ({
  nodes: names.map((name) => memoryNode({ name })),
  close() {},
});
