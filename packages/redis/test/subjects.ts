import type { LockNodeSubject } from "@holdfast/conformance";
import { startTcpProxy } from "@holdfast/conformance/tcp-proxy";
import type { RedisNode, RedisNodeOptions } from "../src/index.ts";
import { eventually } from "./timing.ts";

/** A client as far as subjects need it. */
export interface SubjectClient {
  readonly node: RedisNode;
  close(): void;
}

let prefixes = 0;

/** Makes the subjects of one server: two clients each, which reach it through a proxy and have a prefix of their own. */
export function subjectsOver(
  port: number,
  make: (port: number, options: RedisNodeOptions) => SubjectClient,
): () => Promise<LockNodeSubject> {
  return async () => {
    const proxy = await startTcpProxy({ port });
    const subject = await subjectOf((options) => make(proxy.port, options));
    return {
      ...subject,
      server: proxy,
      async close() {
        await subject.close();
        await proxy.close();
      },
    };
  };
}

/** The same without the proxy, for a further protocol of a client that is tested with it, or another way to connect. */
export function directSubjectsOver(
  make: (options: RedisNodeOptions) => SubjectClient,
  prefix = "test",
): () => Promise<LockNodeSubject> {
  return () => subjectOf(make, prefix);
}

/** Why these have no server. */
export const noOtherProtocol = "a protocol has no part in it: tested over the other one";
export const noOtherWay = "the way to connect has no part in it: tested over TCP";

/** What a cluster's subjects are declared to be unable to do. */
export const clusterLimits = {
  unrelatedResources: "a script reaches the keys of one slot: what is locked together shares a hash tag",
};

/** Why a cluster's subjects have no server. */
export const noClusterServer =
  "clients go to the addresses that the servers name, past any proxy (the adapter's own tests end a shard)";

/** Makes the subjects of one cluster, where resources are related by a hash tag. */
export function clusterSubjectsOver(
  make: (options: RedisNodeOptions) => SubjectClient,
): () => Promise<LockNodeSubject> {
  return async () => ({ ...(await subjectOf(make)), related: (resource) => `{together}${resource}` });
}

async function subjectOf(
  make: (options: RedisNodeOptions) => SubjectClient,
  prefix = "test",
): Promise<LockNodeSubject> {
  prefixes += 1;
  // The suite makes a Redlock of several subjects, all of them on one server.
  const options = { prefix: `${prefix}:${prefixes}:`, verifyServer: false };
  const clients = [make(options), make(options)] as const;
  // So many names that each master of a cluster has some of them.
  const names = Array.from({ length: 64 }, (_, index) => `warm-up ${index}`);
  await eventually(async () => {
    for (const { node } of clients) await Promise.all(names.map((name) => node.inspect(name)));
  });
  return {
    node: clients[0].node,
    rival: clients[1].node,
    async close() {
      for (const { node, close } of clients) {
        await node.close();
        close();
      }
    },
  };
}
