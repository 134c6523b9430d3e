import { setTimeout } from "node:timers/promises";
import type { LockNodeSubject, OpenedNode, RivalModule } from "@holdfast/conformance";
import { startTcpProxy } from "@holdfast/conformance/tcp-proxy";
import type { RedisNode, RedisNodeOptions } from "@holdfast/redis";

/** A client as far as subjects need it. */
export interface SubjectClient {
  readonly node: RedisNode;
  close(): void;
}

let prefixes = 0;

/** How to make the same client in another process: the module of the adapter, and what it calls the client. */
export interface RivalClient {
  readonly url: URL;
  readonly client: string;
}

/** What the module of an adapter is called with. */
export interface RivalOptions {
  readonly client: string;
  readonly ports: readonly number[];
  readonly options: RedisNodeOptions;
}

/** Opens the node of a client that the suite has asked for in another process, once the client is connected. */
export async function openRival(
  makers: Readonly<Record<string, (ports: readonly number[], options: RedisNodeOptions) => SubjectClient>>,
  { client, ports, options }: RivalOptions,
): Promise<OpenedNode> {
  const make = makers[client];
  if (make === undefined) throw new Error(`no client ${client}`);
  const made = make(ports, options);
  await untilConnected([made]);
  return { node: made.node, close: () => closed(made) };
}

function rivalModule(rival: RivalClient, ports: readonly number[], options: RedisNodeOptions): RivalModule {
  return {
    url: rival.url,
    options: { client: rival.client, ports, options } satisfies RivalOptions,
    execArgv: ["--import", "tsx"],
  };
}

async function closed({ node, close }: SubjectClient): Promise<void> {
  await node.close();
  close();
}

/** So many names that each master of a cluster has some of them. */
const names = Array.from({ length: 64 }, (_, index) => `warm-up ${index}`);
const connectTimeoutMs = 30_000;

async function untilConnected(clients: readonly SubjectClient[]): Promise<void> {
  for (const endMs = performance.now() + connectTimeoutMs; ; ) {
    try {
      for (const { node } of clients) await Promise.all(names.map((name) => node.inspect(name)));
      return;
    } catch (error) {
      if (performance.now() > endMs) throw error;
      await setTimeout(5);
    }
  }
}

/** Makes the subjects of one server: two clients each, which reach it through a proxy and have a prefix of their own. */
export function subjectsOver(
  port: number,
  make: (port: number, options: RedisNodeOptions) => SubjectClient,
  rival?: RivalClient,
): () => Promise<LockNodeSubject> {
  return async () => {
    const proxy = await startTcpProxy({ port });
    const options = freshOptions();
    const subject = await subjectOf((each) => make(proxy.port, each), options);
    return {
      ...subject,
      ...(rival && { rivalModule: rivalModule(rival, [port], options) }),
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
  return () => subjectOf(make, freshOptions(prefix));
}

/** Why these have no server. */
export const noOtherProtocol = "a protocol has no part in it: tested over the other one";
export const noOtherWay = "the way to connect has no part in it: tested over TCP";
export const noOtherVersion = "the version of the client has no part in it: tested with the newest one";

/** What a cluster's subjects are declared to be unable to do. */
export const clusterLimits = {
  unrelatedResources: "a script reaches the keys of one slot: what is locked together shares a hash tag",
};

/** Why a cluster's subjects have no server. */
export const noClusterServer =
  "clients go to the addresses that the servers name, past any proxy (the adapter's own tests end a shard)";

/** Makes the subjects of one cluster, where resources are related by a hash tag. */
export function clusterSubjectsOver(
  ports: readonly number[],
  make: (ports: readonly number[], options: RedisNodeOptions) => SubjectClient,
  rival?: RivalClient,
): () => Promise<LockNodeSubject> {
  return async () => {
    const options = freshOptions();
    return {
      ...(await subjectOf((each) => make(ports, each), options)),
      ...(rival && { rivalModule: rivalModule(rival, ports, options) }),
      related: (resource) => `{together}${resource}`,
    };
  };
}

/** The suite makes a Redlock of several subjects, all of them on one server. */
function freshOptions(prefix = "test"): RedisNodeOptions {
  prefixes += 1;
  return { prefix: `${prefix}:${prefixes}:`, verifyServer: false };
}

async function subjectOf(
  make: (options: RedisNodeOptions) => SubjectClient,
  options: RedisNodeOptions,
): Promise<LockNodeSubject> {
  const clients = [make(options), make(options)] as const;
  await untilConnected(clients);
  return {
    node: clients[0].node,
    rival: clients[1].node,
    async close() {
      for (const client of clients) await closed(client);
    },
  };
}
