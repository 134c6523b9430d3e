import {
  type DescribeLockNodeOptions,
  essentialTests,
  type LockNodeSubject,
  type RivalModule,
} from "@holdfast/conformance";
import { startTcpProxy, type TcpProxy } from "@holdfast/conformance/tcp-proxy";
import { type RedisNodeOptions, tagOfSlot } from "@holdfast/redis";
import {
  isNightly,
  type RedisServer,
  redisCommand,
  repetition,
  reusedConnections,
  startRedisCluster,
  startRedisServer,
  type TlsEndpoint,
} from "@holdfast/testkit";
import { bundleRival } from "@holdfast/testkit/bundle-rival";
import { afterAll } from "vitest";
import { type RivalOptions, type SubjectClient, type SubjectNode, untilConnected, withoutFloor } from "./open-rival.ts";
import { allow, documentedPermissions, forOperators, user } from "./permissions.ts";

/**
 * One script raises and reads the 16 384 counters of a prefix, whatever sends it, which takes half of the time of these
 * tests. Two of them show what is left to a client: that it passes numbers and names on.
 */
const ofFloorScript = /\bfloor\b|\bepochs?\b|^scan\(\)/;
const ofItsReplies = /^raiseFloor\(\) raises|^scan\(\) reads names/;

/** For one more version or connection of a client over which the whole suite runs: nightly, everything runs. */
export const essentials: Pick<DescribeLockNodeOptions, "only" | "repetition"> = isNightly
  ? {}
  : { only: essentialTests.filter((each) => !ofFloorScript.test(each) || ofItsReplies.test(each)), repetition };

let prefixes = 0;

/** How to create the same client in another process: by its name in a module of the adapter. */
export interface RivalClient {
  readonly url: URL;
  readonly client: string;
}

async function rivalModule(
  { url, client }: RivalClient,
  ports: readonly number[],
  options: RedisNodeOptions,
): Promise<RivalModule> {
  return { ...(await bundleRival(url)), options: { client, ports, options } satisfies RivalOptions };
}

/** Creates subjects for one server: each has two clients behind a proxy, and its own prefix. */
export function subjectsOver(
  port: number,
  make: (port: number) => SubjectClient,
  rival?: RivalClient,
): () => Promise<LockNodeSubject> {
  const create = subjectsWith(async () => {
    const proxy = await startTcpProxy({ port });
    return { clients: await connected(() => make(proxy.port)), proxy };
  });
  const command: RedisServer["command"] = (...args) => redisCommand(port, args);
  return cleared(command, "test", async (options) => ({
    ...(await create(options)),
    ...(rival && { rivalModule: await rivalModule(rival, [port], options) }),
  }));
}

/** Describes subjects without a proxy, for another protocol or another kind of connection of a client tested elsewhere. */
export function directly({ command }: Commands, make: () => SubjectClient, prefix = "test"): DescribeLockNodeOptions {
  const create = subjectsWith(async () => ({ clients: await connected(make, 1, prefix) }));
  const reason = "independent of the protocol and the kind of connection: tested over others";
  return { create: cleared(command, prefix, create), noServer: reason, noOtherProcess: reason };
}

/** The part of a server that {@link directly} needs. */
type Commands = Pick<RedisServer, "command">;

/** Starts servers that clients reach in different ways, until the tests of the file have ended. */
export async function serversByWay() {
  const password = "open sesame";
  const server = await startRedisServer();
  const closed = await startRedisServer({ args: ["--requirepass", password] });
  const secure = await startRedisServer({ tls: true });
  const cluster = await startRedisCluster(3);
  afterAll(() => Promise.all([server, closed, secure, cluster].map((each) => each.stop())));
  await allow(secure, [...(await documentedPermissions()), ...forOperators, "+select"]);
  const { port, ca } = secure.tls as TlsEndpoint;
  const inDatabase3: Commands = { command: (...args) => redisCommand(secure.port, args, [["SELECT", 3]]) };
  const byPassword: Commands = { command: (...args) => redisCommand(closed.port, args, [["AUTH", password]]) };
  return {
    server,
    /** By TLS, as a user with the fewest permissions, in database 3. */
    tls: { port, ca, user, commands: inDatabase3 },
    /** By a Unix socket, with a password. */
    socket: { path: closed.socketPath, password, commands: byPassword },
    /** The ports of a cluster. */
    ports: cluster.servers.map((each) => each.port),
  };
}

/** The limits that subjects of a cluster declare. */
const clusterLimits = {
  unrelatedResources: "a script reaches the keys of one slot: resources locked together share a hash tag",
  floor:
    "the suite would take an hour, as each of 16 384 counters is raised by a call of its own; a test of its own does",
};

/** Reason why subjects of a cluster have no `server`. */
const noClusterServer =
  "clients connect to the addresses that the servers report, past any proxy (tests of the adapter stop a shard)";

/** Describes subjects of one cluster, in which a hash tag relates resources. */
export function onCluster(
  ports: readonly number[],
  make: (ports: readonly number[]) => SubjectClient,
  rival?: RivalClient,
): DescribeLockNodeOptions {
  const open = subjectsWith(async () => ({ clients: await connected(() => make(ports), ports.length) }));
  const create = async (): Promise<LockNodeSubject> => {
    const options = freshOptions();
    const subject = await open(options);
    return {
      ...subject,
      node: withoutFloor(subject.node),
      rival: withoutFloor(subject.rival),
      ...(rival && { rivalModule: await rivalModule(rival, ports, options) }),
      related: (resource) => `{together}${resource}`,
    };
  };
  return {
    create,
    cannot: clusterLimits,
    noServer: noClusterServer,
    ...(!rival && { noOtherProcess: "independent of the version of the client: tested with the newest one" }),
  };
}

const tags = Array.from({ length: 16_384 }, (_, slot) => tagOfSlot(slot));

/** Creates subjects that end by removing their fence counters if their floor was raised: all 16 384 of their prefix. */
function cleared(
  command: RedisServer["command"],
  prefixes: string,
  create: (options: RedisNodeOptions) => Promise<LockNodeSubject>,
): () => Promise<LockNodeSubject> {
  return async () => {
    const options = freshOptions(prefixes);
    const subject = await create(options);
    return {
      ...subject,
      async close() {
        await subject.close();
        const counterOf = (tag: string): string => `holdfast:fence:{${tag}}${options.prefix}`;
        const isRaised = (await command("EXISTS", ...tags.slice(0, 2).map(counterOf))) === 2;
        if (isRaised) await command("UNLINK", ...tags.map(counterOf));
      },
    };
  };
}

/** Returns options that let several subjects on one server form a Redlock. */
function freshOptions(prefix = "test"): RedisNodeOptions {
  prefixes += 1;
  return { prefix: `${prefix}:${prefixes}:`, verifyServer: false };
}

/** Creates subjects over connections that are used again, until the tests of the file have ended. */
function subjectsWith(connect: () => Promise<{ clients: readonly [SubjectClient, SubjectClient]; proxy?: TcpProxy }>) {
  const connections = reusedConnections<RedisNodeOptions, SubjectNode, TcpProxy>(connect);
  afterAll(connections.close);
  return connections.open;
}

/** Creates two clients, which may reach keys with this prefix, and waits until they are connected. */
async function connected(
  make: () => SubjectClient,
  masters = 1,
  prefix?: string,
): Promise<readonly [SubjectClient, SubjectClient]> {
  const clients = [make(), make()] as const;
  await untilConnected(
    clients.map((client) => client.openNode(freshOptions(prefix))),
    masters,
  );
  return clients;
}
