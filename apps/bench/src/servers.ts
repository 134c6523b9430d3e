import { connectIoredis } from "@holdfast/app-kit/clients";
import { type RedisServer, startRedisServer } from "@holdfast/testkit";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import type { Redis } from "ioredis";
import { type Network, startNetwork } from "./network.ts";

/** The usage of all servers together. */
export interface ServerUsage {
  /** Microseconds of processor time. */
  readonly cpuUs: number;
  /** Bytes received and sent, without those of the benchmark itself. */
  readonly bytes: number;
}

/** Real servers, started on first use. */
export interface Servers {
  /** Returns the ports and process ids of the first `count` servers. */
  targets(count: number): Promise<readonly Pick<RedisServer, "port" | "pid">[]>;
  /** Returns the ports of the first `count` servers. */
  ports(count: number): Promise<readonly number[]>;
  /** The same through a process that delays all bytes. */
  remotePorts(count: number): Promise<readonly number[]>;
  /** See {@link Network.setRoundTrip}. */
  setRoundTrip(count: number, roundTripMs: number): Promise<number>;
  /** Deletes all keys. */
  empty(): Promise<void>;
  /** Starts to watch the first `count` servers. The returned function resolves with their usage since. */
  watch(count: number): Promise<() => Promise<ServerUsage>>;
}

interface Server {
  readonly server: RedisServer;
  /** A connection of the benchmark. */
  readonly redis: Redis;
}

/**
 * Makes an empty set of servers.
 *
 * @param networkProgram see `process/network.ts`
 * @param cleanup stops all servers
 */
export function createServers(networkProgram: string, cleanup: Cleanup): Servers {
  const all: Server[] = [];
  const first = async (count: number): Promise<readonly Server[]> => {
    while (all.length < count) all.push(await start(cleanup));
    return all.slice(0, count);
  };
  let started: Network | undefined;
  const network = (): Network => {
    started ??= startNetwork(networkProgram, cleanup);
    return started;
  };
  const ports = async (count: number) => (await first(count)).map(({ server }) => server.port);
  return {
    targets: async (count) => (await first(count)).map(({ server: { port, pid } }) => ({ port, pid })),
    ports,
    remotePorts: async (count) => network().ports(await ports(count)),
    setRoundTrip: async (count, roundTripMs) => network().setRoundTrip(await ports(count), roundTripMs),
    async empty() {
      await Promise.all(all.map(({ redis }) => redis.flushall()));
    },
    async watch(count) {
      const servers = await first(count);
      const before = await Promise.all(servers.map(readUsage));
      return async () => {
        const after = await Promise.all(servers.map(readUsage));
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
  const [redis] = await connectIoredis([server.port]);
  cleanup.defer(() => redis?.disconnect());
  return { server, redis: redis as Redis };
}

/** A report of a server, and its length. */
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

/** The reply to the first reading and the question of the second one lie between the two. */
function difference(before: Reading, after: Reading): ServerUsage {
  return {
    cpuUs: after.cpuUs - before.cpuUs,
    bytes: after.bytes - before.bytes - before.ownBytes - question.length,
  };
}
