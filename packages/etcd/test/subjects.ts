import type { LockNodeLimits, LockNodeSubject } from "@holdfast/conformance";
import { startTcpProxy, type TcpProxy } from "@holdfast/conformance/tcp-proxy";
import { bundleRival } from "@holdfast/testkit/bundle-rival";
import { etcdNode } from "../src/index.ts";

/** What etcd cannot do. */
export const limits: LockNodeLimits = {
  exactTtl: "leases last whole seconds; a claim lasts as long as its lease if the client cannot delete it at its ttl",
  manyResources: {
    max: 63,
    reason: "a transaction has at most 128 operations (--max-txn-ops): a resource takes two, and the floor one",
  },
};

let subjects = 0;

/** Returns a function that creates subjects over a server or a cluster. */
export function subjectsOver(ports: readonly number[]): () => Promise<LockNodeSubject> {
  return async () => {
    subjects += 1;
    const prefix = `subject ${subjects}/`;
    const proxies = await Promise.all(ports.map((port) => startTcpProxy({ port })));
    const endpoints = proxies.map(({ port }) => `http://127.0.0.1:${port}`);
    const nodes = [etcdNode({ endpoints, prefix }), etcdNode({ endpoints, prefix })] as const;
    return {
      node: nodes[0],
      rival: nodes[1],
      rivalModule: {
        ...(await bundleRival(new URL("./fixtures/rival.ts", import.meta.url))),
        options: { endpoints: ports.map((port) => `http://127.0.0.1:${port}`), prefix },
      },
      server: networkOver(proxies),
      async close() {
        await Promise.all(nodes.map((node) => node.close()));
        await Promise.all(proxies.map((proxy) => proxy.close()));
      },
    };
  };
}

/** The network to all members of a cluster. */
function networkOver(proxies: readonly TcpProxy[]) {
  return {
    stop: async () => void (await Promise.all(proxies.map((proxy) => proxy.stop()))),
    start: async () => void (await Promise.all(proxies.map((proxy) => proxy.start()))),
    connections: () => proxies.reduce((sum, proxy) => sum + proxy.connections(), 0),
  };
}
