import {
  type DescribeLockNodeOptions,
  essentialTests,
  type LockNodeSubject,
  type RivalModule,
} from "@holdfast/conformance";
import { startTcpProxy } from "@holdfast/conformance/tcp-proxy";
import { type RedisNodeOptions, tagOfSlot } from "@holdfast/redis";
import { isNightly, type RedisServer, redisCommand } from "@holdfast/testkit";
import { closed, type RivalOptions, type SubjectClient, untilConnected, withoutFloor } from "./open-rival.ts";

/** For one more version or connection of a client over which the whole suite runs: nightly, everything runs. */
export const essentials: Pick<DescribeLockNodeOptions, "only"> = isNightly ? {} : { only: essentialTests };

let prefixes = 0;

/** How to create the same client in another process: by its name in a module of the adapter. */
export interface RivalClient {
  readonly url: URL;
  readonly client: string;
}

function rivalModule(rival: RivalClient, ports: readonly number[], options: RedisNodeOptions): RivalModule {
  return {
    url: rival.url,
    options: { client: rival.client, ports, options } satisfies RivalOptions,
    execArgv: ["--import", "tsx"],
  };
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
        await clear((...args) => redisCommand(port, args), options);
      },
    };
  };
}

/** Creates subjects without a proxy, for another protocol or another kind of connection of a client tested elsewhere. */
export function directSubjectsOver(
  { command }: Pick<RedisServer, "command">,
  make: (options: RedisNodeOptions) => SubjectClient,
  prefix = "test",
): () => Promise<LockNodeSubject> {
  return async () => {
    const options = freshOptions(prefix);
    const subject = await subjectOf(make, options);
    return {
      ...subject,
      async close() {
        await subject.close();
        await clear(command, options);
      },
    };
  };
}

/** Reasons why these subjects have no `server`. */
export const noOtherProtocol = "independent of the protocol: tested over the other one";
export const noOtherWay = "independent of the kind of connection: tested over TCP";
export const noOtherVersion = "independent of the version of the client: tested with the newest one";

/** The limits that subjects of a cluster declare. */
export const clusterLimits = {
  unrelatedResources: "a script reaches the keys of one slot: resources locked together share a hash tag",
  floor:
    "the suite would take an hour, as each of 16 384 counters is raised by a call of its own; a test of its own does",
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
    const makeWithoutFloor = (each: RedisNodeOptions): SubjectClient => withoutFloor(make(ports, each));
    return {
      ...(await subjectOf(makeWithoutFloor, options, ports.length)),
      ...(rival && { rivalModule: rivalModule(rival, ports, options) }),
      related: (resource) => `{together}${resource}`,
    };
  };
}

/** Deletes thousands of keys whose names need not be sent. */
const unlinkAll = `
local cursor = '0'
repeat
  local found = redis.call('SCAN', cursor, 'MATCH', ARGV[1], 'COUNT', 4000)
  cursor = found[1]
  if #found[2] > 0 then redis.call('UNLINK', unpack(found[2])) end
until cursor == '0'`;

/** Removes the fence counters of a subject whose floor was raised: all 16 384 of its prefix. */
async function clear(command: RedisServer["command"], { prefix = "" }: RedisNodeOptions): Promise<void> {
  const two = [0, 1].map((slot) => `holdfast:fence:{${tagOfSlot(slot)}}${prefix}`);
  if ((await command("EXISTS", ...two)) === 2) {
    await command("EVAL", unlinkAll, "0", `holdfast:fence:{*}${prefix}`);
  }
}

/** Returns options that let several subjects on one server form a Redlock. */
function freshOptions(prefix = "test"): RedisNodeOptions {
  prefixes += 1;
  return { prefix: `${prefix}:${prefixes}:`, verifyServer: false };
}

async function subjectOf(
  make: (options: RedisNodeOptions) => SubjectClient,
  options: RedisNodeOptions,
  masters = 1,
): Promise<LockNodeSubject> {
  const clients = [make(options), make(options)] as const;
  await untilConnected(clients, masters);
  return {
    node: clients[0].node,
    rival: clients[1].node,
    async close() {
      for (const client of clients) await closed(client);
    },
  };
}
