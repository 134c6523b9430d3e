import { setTimeout } from "node:timers/promises";
import type { LockNodeSubject, OpenedNode, RivalModule } from "@holdfast/conformance";
import { startTcpProxy } from "@holdfast/conformance/tcp-proxy";
import type { RedisNode, RedisNodeOptions } from "@holdfast/redis";

/** The part of a client that subjects need. */
export interface SubjectClient {
  readonly node: RedisNode;
  close(): void;
}

let prefixes = 0;

/** How to create the same client in another process: by its name in a module of the adapter. */
export interface RivalClient {
  readonly url: URL;
  readonly client: string;
}

/** The options of that module. */
export interface RivalOptions {
  readonly client: string;
  readonly ports: readonly number[];
  readonly options: RedisNodeOptions;
}

/** Creates the requested client in another process, and resolves with its node when it is connected. */
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

/** Enough names for every master of a cluster to have some. */
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

/** Creates subjects for one server: each has two clients behind a proxy, and its own prefix. */
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

/** Creates subjects without a proxy, for another protocol or another kind of connection of a client tested elsewhere. */
export function directSubjectsOver(
  make: (options: RedisNodeOptions) => SubjectClient,
  prefix = "test",
): () => Promise<LockNodeSubject> {
  return () => subjectOf(make, freshOptions(prefix));
}

/** Reasons why these subjects have no `server`. */
export const noOtherProtocol = "independent of the protocol: tested over the other one";
export const noOtherWay = "independent of the kind of connection: tested over TCP";
export const noOtherVersion = "independent of the version of the client: tested with the newest one";

/** The limits that subjects of a cluster declare. */
export const clusterLimits = {
  unrelatedResources: "a script reaches the keys of one slot: resources locked together share a hash tag",
  floor: "one key would be in another slot than most locks, and each shard would need its own",
};

/** Reason why subjects of a cluster have no `server`. */
export const noClusterServer =
  "clients connect to the addresses that the servers report, past any proxy (tests of the adapter stop a shard)";

/** Creates subjects for one cluster, in which a hash tag relates resources. */
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

/** Returns options that let several subjects on one server form a Redlock. */
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
