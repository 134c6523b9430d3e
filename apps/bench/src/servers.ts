import { once } from "node:events";
import { type RedisServer, startRedisServer, startTcpProxy, type TcpProxy } from "@holdfast/testkit";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { Redis } from "ioredis";

/** What all servers together have done. */
export interface ServerUsage {
  /** Microseconds of processor time. */
  readonly cpuUs: number;
  /** Bytes that came in, and went out, over all connections but ours. */
  readonly bytes: number;
}

/** Real servers, as many as were ever needed. */
export interface Servers {
  /** The first so many of them; starts what is missing. */
  first(count: number): Promise<readonly RedisServer[]>;
  /** The ports of the first so many, seen over a network with a round trip of so long. */
  ports(count: number, roundTripMs: number): Promise<readonly number[]>;
  /** Empties the first so many. */
  empty(count: number): Promise<void>;
  /** Begins to watch what the first so many do, and answers what ends it. */
  watch(count: number): Promise<() => Promise<ServerUsage>>;
}

interface Server {
  readonly server: RedisServer;
  /** A connection to ask it over. */
  readonly redis: Redis;
  proxy?: TcpProxy;
}

/** Makes an empty set of servers; all that will be in it is stopped by the cleanup. */
export function createServers(cleanup: Cleanup): Servers {
  const all: Server[] = [];
  const take = async (count: number): Promise<readonly Server[]> => {
    while (all.length < count) all.push(await start(cleanup));
    return all.slice(0, count);
  };
  return {
    first: async (count) => (await take(count)).map(({ server }) => server),
    async ports(count, roundTripMs) {
      const some = await take(count);
      if (roundTripMs === 0) return some.map(({ server }) => server.port);
      return Promise.all(some.map((one) => portOfProxy(one, roundTripMs, cleanup)));
    },
    async empty(count) {
      await Promise.all((await take(count)).map(({ redis }) => redis.flushall()));
    },
    async watch(count) {
      const some = await take(count);
      const before = await Promise.all(some.map(readUsage));
      return async () => {
        const after = await Promise.all(some.map(readUsage));
        const usages = after.map((now, index) => difference(before[index] as Reading, now));
        return {
          cpuUs: usages.reduce((sum, { cpuUs }) => sum + cpuUs, 0),
          bytes: usages.reduce((sum, { bytes }) => sum + bytes, 0),
        };
      };
    },
  };
}

async function start(cleanup: Cleanup): Promise<Server> {
  const server = await startRedisServer();
  cleanup.defer(() => server.stop());
  const redis = new Redis({ host: "127.0.0.1", port: server.port, retryStrategy: () => 20 });
  redis.on("error", () => {});
  cleanup.defer(() => redis.disconnect());
  await once(redis, "ready");
  return { server, redis };
}

async function portOfProxy(one: Server, roundTripMs: number, cleanup: Cleanup): Promise<number> {
  if (one.proxy === undefined) {
    const proxy = await startTcpProxy(one.server.port);
    cleanup.defer(() => proxy.stop());
    one.proxy = proxy;
  }
  one.proxy.delay(roundTripMs / 2);
  return one.proxy.port;
}

/** What a server says of itself, and how long the answer was that said so. */
interface Reading {
  readonly cpuUs: number;
  readonly bytes: number;
  readonly ownBytes: number;
}

const question = "*3\r\n$4\r\nINFO\r\n$5\r\nstats\r\n$3\r\ncpu\r\n";

async function readUsage({ redis }: Server): Promise<Reading> {
  const text = String(await redis.call("INFO", "stats", "cpu"));
  const numberOf = (name: string): number => Number(new RegExp(`^${name}:(.*)\r$`, "m").exec(text)?.[1]);
  return {
    cpuUs: (numberOf("used_cpu_user") + numberOf("used_cpu_sys")) * 1e6,
    bytes: numberOf("total_net_input_bytes") + numberOf("total_net_output_bytes"),
    // A verbatim string of RESP3, which ioredis speaks.
    ownBytes: `=${text.length + 4}\r\ntxt:${text}\r\n`.length,
  };
}

/** Between two readings lie the answer of the first and the question of the second. */
function difference(before: Reading, after: Reading): ServerUsage {
  return {
    cpuUs: after.cpuUs - before.cpuUs,
    bytes: after.bytes - before.bytes - before.ownBytes - question.length,
  };
}
