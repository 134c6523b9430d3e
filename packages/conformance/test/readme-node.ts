import type { LockNode } from "@holdfast/core";
import { type MemoryNode, memoryNode } from "@holdfast/memory";

/** Stands in for the store of a reader of the README, and the way to it: "my-node.ts". */
interface Network {
  readonly connections: number;
  isUp(): boolean;
  cut(): Promise<void>;
  restore(): Promise<void>;
}

interface Client {
  readonly network: Network;
  deleteAll(prefix: string): Promise<void>;
  end(): Promise<void>;
}

const stores = new Map<string, MemoryNode>();

export async function startNetwork(): Promise<Network> {
  let isUp = true;
  return {
    connections: 2,
    isUp: () => isUp,
    cut: async () => {
      isUp = false;
    },
    restore: async () => {
      isUp = true;
    },
  };
}

export async function connect(network: Network): Promise<Client> {
  return { network, deleteAll: async (prefix) => void stores.delete(prefix), end: async () => {} };
}

export function myNode({ network }: Client, { prefix }: { readonly prefix: string }): LockNode {
  const store = stores.get(prefix) ?? memoryNode();
  stores.set(prefix, store);
  const call = async <T>(send: () => Promise<T>): Promise<T> => {
    if (!network.isUp()) throw new Error("connection refused");
    return send();
  };
  return {
    name: store.name,
    acquire: (request) => call(() => store.acquire(request)),
    extend: (request) => call(() => store.extend(request)),
    release: (request) => call(() => store.release(request)),
    inspect: (resource) => call(() => store.inspect(resource)),
  };
}
