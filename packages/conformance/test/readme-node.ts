import type { LockNode } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";

/** Stands in for the store of a reader of the README: "my-node.ts". */
interface Client {
  deleteAll(prefix: string): Promise<void>;
  end(): Promise<void>;
}

const nodes = new Map<string, LockNode>();

export async function connect(): Promise<Client> {
  return {
    deleteAll: async (prefix) => void nodes.delete(prefix),
    end: async () => {},
  };
}

export function myNode(_client: Client, { prefix }: { readonly prefix: string }): LockNode {
  const node = nodes.get(prefix) ?? memoryNode();
  nodes.set(prefix, node);
  return node;
}
